"""Systems that hold arrays for several processes: one file each, with a `measure` of its turn.

A turn returns `{"cases": {case: [value, unit]}}`; cases named `map SIZE` are the times inside a
worker process until an array is in hand, `put`, `send` and the like are bandwidths.
"""
