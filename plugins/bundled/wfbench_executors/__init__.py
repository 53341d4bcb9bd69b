"""Bundled executors: where the training of orders runs."""
