"""Benchmarks: one file per question asked, the peers in the same run."""
