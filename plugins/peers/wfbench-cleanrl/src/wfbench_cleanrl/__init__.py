"""A PPO in the style of CleanRL: plain torch, every row through the networks."""
