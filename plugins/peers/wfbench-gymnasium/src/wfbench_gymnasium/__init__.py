"""gymnasium's vector environments as collectors, and any registered environment."""
