"""Run RS-TriPhoton: ``python -m examples.triphoton --source nano_tree.root --files 60``."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import awkward as ak
import dask

import freestone as fs
from examples.triphoton.analysis import lazy_results, masses, skim
from examples.triphoton.samples import Sample, make_samples


def by_dask(samples: list[Sample], scheduler: Any, merged: str | None = None) -> dict[str, Any]:
    """Run the lazy analysis with any scheduler of Dask's."""
    lazy = lazy_results([sample.path for sample in samples], merged)
    (results,) = dask.compute(lazy, scheduler=scheduler)
    return dict(results["measured"])


def by_calls(samples: list[Sample], cluster: fs.Cluster) -> dict[str, Any]:
    """Run the same analysis as plain calls, without Dask."""
    parts = cluster.map(skim, [sample.path for sample in samples])
    whole = fs.reduce(join, parts, commutes=False)
    return dict(cluster.submit(masses, whole).result())


def join(one: ak.Array, other: ak.Array) -> ak.Array:
    """Put two skims together."""
    return ak.concatenate([one, other])


def main() -> None:
    """Make samples, skim and merge them, and compare with what is known."""
    parser = argparse.ArgumentParser(prog="python -m examples.triphoton", description=main.__doc__)
    parser.add_argument("--source", type=Path, required=True, help="a NanoAOD file to resample")
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--events", type=int, default=500, help="in each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--calls", action="store_true", help="as plain calls, without Dask")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, fs.Cluster(workers=options.workers) as cluster:
        samples = make_samples(
            options.source,
            Path(folder),
            files=options.files,
            events=options.events,
            seed=options.seed,
        )
        start = time.perf_counter()
        merged = str(Path(folder) / "skim.parquet")
        run = by_calls(samples, cluster) if options.calls else by_dask(samples, cluster.get, merged)
        seconds = time.perf_counter() - start
        pairs, triples = (run[name].sum() for name in ("pairs", "triples"))
        print(f"{run['events']} events, {pairs:g} pairs, {triples:g} triples")
        print(f"{options.files} files in {seconds:.2f} s")
        known = sum(sample.events for sample in samples)
        if run["events"] != known:
            raise SystemExit(f"{run['events']} events passed, not {known}")


if __name__ == "__main__":
    main()
