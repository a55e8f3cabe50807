"""Measurements, run from a clone: `python -m benchmarks.speed`."""
