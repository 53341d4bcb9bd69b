"""Ray in wfbench: actors as a collector, a cluster as an executor."""
