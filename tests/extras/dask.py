"""Graphs of Dask's arrays and data frames."""

import dask.array as da
import dask.dataframe as dd
import pandas as pd

import freestone as fs

if __name__ == "__main__":
    with fs.Cluster(executors=2) as cluster:
        assert da.arange(12, chunks=4).sum().compute(scheduler=cluster.get) == 66
        frame = dd.from_pandas(pd.DataFrame({"n": range(6)}), npartitions=2)
        assert frame.n.sum().compute(scheduler=cluster.get) == 15
