"""RLlib's PPO as a trainer."""
