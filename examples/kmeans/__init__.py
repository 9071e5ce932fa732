"""Cluster points by k-means."""
