"""Zarr."""

import numpy as np

import freestone as fs

field = np.arange(24.0).reshape(4, 3, 2)
fs.write(field, "field.zarr")
assert (fs.read("field.zarr").compute() == field).all()
