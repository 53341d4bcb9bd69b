"""Bundled environment whose costs and faults are options: for benchmarks and fault tests."""
