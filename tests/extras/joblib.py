"""The backend of joblib."""

import joblib

import freestone as fs

if __name__ == "__main__":
    with fs.Cluster(executors=2), joblib.parallel_config("freestone"):
        assert joblib.Parallel()(joblib.delayed(abs)(x) for x in (-1, -2)) == [1, 2]
