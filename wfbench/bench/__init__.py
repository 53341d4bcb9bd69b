"""Measuring: cases in interleaved rounds, each sample from a fresh process and a fresh seed."""
