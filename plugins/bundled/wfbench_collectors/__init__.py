"""Bundled collectors: sequential, pipe, shm, async and vector."""
