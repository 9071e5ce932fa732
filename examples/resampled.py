"""The command line of analyses of resampled files, which dv3 and triphoton share."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import freestone as fs

__all__ = ["run"]


def run(
    about: str,
    source: str,
    events: int,
    make_samples: Callable[..., list[Any]],
    analyse: Callable[[list[Any], fs.Cluster, bool, Path], Any],
    tell: Callable[[list[Any], Any], list[str]],
) -> None:
    """Make samples, analyse them on a cluster, and compare with what is known.

    Parameters
    ----------
    about, source
        What the program does, and what file it resamples.
    events
        How many events each file has by default.
    make_samples
        Makes files of the source, in a folder, and tells what an analysis of each must find.
    analyse
        Takes the samples, the cluster, whether to do without Dask, and a folder for what it writes.
    tell
        Prints the results and returns what is wrong with them.

    Raises
    ------
    SystemExit
        If the results are not what the samples are known to hold.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--source", type=Path, required=True, help=source)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--events", type=int, default=events, help="in each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--calls", action="store_true", help="as plain calls, without Dask")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, fs.Cluster(workers=options.workers) as cluster:
        folder = Path(name)
        samples = make_samples(
            options.source,
            folder,
            files=options.files,
            events=options.events,
            seed=options.seed,
        )
        start = time.perf_counter()
        results = analyse(samples, cluster, options.calls, folder)
        seconds = time.perf_counter() - start
        wrong = tell(samples, results)
        print(f"{options.files} files in {seconds:.2f} s")
        for problem in wrong:
            raise SystemExit(problem)
