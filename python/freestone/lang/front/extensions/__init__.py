"""Kernels that others write: which there are, and for which operations.

- `kernel`: what is known of one.
- `operations`: what catalogs call the operations of a graph.
- `catalog`, `functions`: kernels of shared libraries, by catalogs, and functions of Python's.
- `loading`: all that the settings name.
"""
