"""DaphneDSL and lazy arrays: a language, its compiler and what runs it.

- `front`: from text to a typed graph: syntax, types, built-in functions, the graph itself.
- `compile`: passes over the graph: rewriting, fusion, strips of rows, placement in a cluster.
- `run`: kernels, and runs of programs, on this machine or on a cluster.
- `script`, `serving`: scripts from their text to their end, here or in a program with a cluster.
- `arrays`, `daphnelib`: the same graph written in Python.

Each imports from those above it in this list only.
"""

from freestone.lang.front.extensions.functions import kernel

__all__ = ["kernel"]
