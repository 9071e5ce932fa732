"""HDF5, and NetCDF, which is HDF5 within."""

import h5netcdf
import h5py
import numpy as np

import freestone as fs

images = np.arange(24.0).reshape(4, 6)
with h5py.File("run.h5", "w") as file:
    file.create_dataset("images", data=images)
assert (fs.read("run.h5").compute() == images).all()
with h5netcdf.File("run.nc", "w") as file:
    file.dimensions = {"x": 4, "y": 6}
    file.create_variable("t2m", ("x", "y"), float, data=images)
assert (fs.read("run.nc", variable="t2m").compute() == images).all()
