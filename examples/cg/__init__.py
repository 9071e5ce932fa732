"""Conjugate gradients on a number of processes that changes."""
