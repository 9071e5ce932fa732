"""Differential fuzzing: one list of all fuzzers, one way to run them, one form of a finding.

``python -m tests.fuzz`` runs them with new seeds; `soak` runs them for an hour beside real load.
"""
