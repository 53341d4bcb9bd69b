"""The official CAGE-2 simulator as a wfbench environment."""
