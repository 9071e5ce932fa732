"""Breadth-first search by others, one file for each."""
