"""tianshou's vector environments as collectors."""
