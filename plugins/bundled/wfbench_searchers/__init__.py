"""Bundled searchers: which order to train next."""
