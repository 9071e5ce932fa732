"""Runs programs: kernels, and their order, on this machine or on a cluster."""
