"""Expressions of polars on a frame."""

import polars as pl

import freestone as fs

if __name__ == "__main__":
    with fs.Cluster(executors=2):
        people = fs.Frame.from_table({"age": [53, 58]}, 1)
        assert people.filter(pl.col("age") > 55).compute().to_pydict() == {"age": [58]}
