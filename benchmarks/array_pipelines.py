"""One scheduler's turn in a round of `benchmarks.arrays`: the same pipelines."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np

from benchmarks.dask_graphs import scheduler

SCHEDULERS = ("freestone", "dask.distributed", "threads")
SIZES = {"days": 1460, "lat": 90, "lon": 180}
QUICK = {"days": 365, "lat": 60, "lon": 90}
BLOCK_DAYS = 73


def field(seed: int, days: int, lat: int, lon: int) -> Any:
    """Give random temperatures by day, in blocks of days."""
    import pandas as pd
    import xarray as xr

    state = da.random.RandomState(seed)
    values = state.random_sample((days, lat, lon), chunks=(BLOCK_DAYS, lat, lon))
    return xr.DataArray(
        values,
        dims=("time", "lat", "lon"),
        coords={"time": pd.date_range("2001-01-01", periods=days), "lat": np.arange(lat)},
    )


def group_means(x: Any) -> Any:
    """Average by month."""
    return x.groupby("time.month").mean()


def anomalies(x: Any) -> Any:
    """Take the mean of each month away from its days; how much they spread."""
    return (x.groupby("time.month") - x.groupby("time.month").mean()).std("time")


def rolling(x: Any) -> Any:
    """Average over seven days; the greatest of these."""
    return x.rolling(time=7).mean().max("time")


def overlap(x: Any) -> Any:
    """Smooth each day with its neighbours, across the borders of blocks."""
    from scipy.ndimage import uniform_filter

    smooth = x.data.map_overlap(uniform_filter, depth=2, boundary="nearest", size=3)
    return smooth.mean(axis=0)


def _corner(block: Any) -> Any:
    return block[:1, :1, :1]


def rechunk(x: Any) -> Any:
    """Turn blocks of days into blocks of places, each with all days; a number of each."""
    days, lat, lon = x.shape
    places = x.data.rechunk((days, lat // 5, lon // 5))
    return places.map_blocks(_corner, chunks=tuple((1,) * len(side) for side in places.chunks))


def quantile(x: Any) -> Any:
    """Take the 90th percentile of all days at each place."""
    places = x.data.rechunk({0: -1, 1: x.sizes["lat"] // 5})
    return places.map_blocks(_percentile, dtype=x.dtype, drop_axis=0)


def _percentile(block: Any) -> Any:
    # Dask's own quantile calls NumPy with an option that NumPy has no more.
    return np.quantile(block, 0.9, axis=0)


def standardise(x: Any) -> Any:
    """Take away the mean and divide by the spread; the greatest by place."""
    return abs((x - x.mean("time")) / x.std("time")).max("time")


def correlation(x: Any) -> Any:
    """Correlate each place with the mean of its latitude."""
    import xarray as xr

    return xr.corr(x, x.mean("lon"), "time")


PIPELINES: dict[str, Callable[[Any], Any]] = {
    function.__name__: function
    for function in (
        *(group_means, anomalies, rolling, overlap),
        *(rechunk, quantile, standardise, correlation),
    )
}


def persisted(x: Any, how: Any) -> Any:
    """Leave the blocks where they are made, and wait until all are."""
    done = x.persist(scheduler=how)
    if hasattr(how, "scheduler_info"):
        from distributed import wait

        wait(done)
    return done


def measure(scheduler_name: str, quick: bool) -> dict[str, Any]:
    """Measure each pipeline once on blocks that are there, after one on other, smaller blocks."""
    warnings.simplefilter("ignore")
    sizes = QUICK if quick else SIZES
    found: dict[str, Any] = {}
    with scheduler(scheduler_name) as how:
        small = persisted(field(1, 2 * BLOCK_DAYS, 20, 20), how)
        x = persisted(field(2, **sizes), how)
        for name, pipeline in PIPELINES.items():
            dask.compute(pipeline(small), scheduler=how)
            made = pipeline(x)
            # The garbage of the pipelines before is not this one's.
            gc.collect()
            start = time.perf_counter()
            dask.compute(made, scheduler=how)
            found[name] = {"seconds": time.perf_counter() - start, "nbytes": x.nbytes}
    return {"cases": found}
