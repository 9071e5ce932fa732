"""Trees of ROOT."""

import numpy as np

import freestone as fs

fs.write(np.arange(6.0).reshape(3, 2), "events.root")
assert fs.read("events.root").compute() is not None
