"""TDMS, as LabVIEW writes it."""

import numpy as np

import freestone as fs

signal = np.arange(6.0).reshape(3, 2)
fs.write(signal, "signal.tdms")
assert (fs.read("signal.tdms").compute() == signal).all()
