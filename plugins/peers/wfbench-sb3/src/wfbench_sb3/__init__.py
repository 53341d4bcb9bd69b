"""Stable-Baselines3 in wfbench: its vector environments as collectors, its PPO as a trainer."""
