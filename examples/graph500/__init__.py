"""Breadth-first search of the Graph500 benchmark: on events, in Rust and in Python."""
