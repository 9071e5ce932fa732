"""Run DV3: ``python -m examples.dv3 --source pfnano.root --files 60``."""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import dask
from coffea.processor import accumulate

import freestone as fs
from examples.dv3.analysis import lazy_results, results_of_file
from examples.dv3.samples import Sample, make_samples

fs.graph.associative(accumulate, commutes=True)


def by_dask(samples: list[Sample], scheduler: Any) -> dict[str, dict[str, Any]]:
    """Run the lazy analysis with any scheduler of Dask's."""
    files: dict[str, list[str]] = {}
    for sample in samples:
        files.setdefault(sample.dataset, []).append(sample.path)
    (results,) = dask.compute(lazy_results(files), scheduler=scheduler)
    return dict(results)


def by_calls(samples: list[Sample], cluster: fs.Cluster) -> dict[str, dict[str, Any]]:
    """Run the same analysis as plain calls, without Dask."""
    paths = [sample.path for sample in samples]
    parts = cluster.map(results_of_file, paths, [sample.dataset for sample in samples])
    return dict(fs.reduce(add, parts, commutes=True).result())


def add(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Add two files' results up."""
    return dict(accumulate([one, other]))


def mistakes(samples: list[Sample], results: dict[str, dict[str, Any]]) -> list[str]:
    """Compare results with what the samples are known to hold; what differs."""
    found = []
    for dataset, result in results.items():
        known = [sample for sample in samples if sample.dataset == dataset]
        jets, weight = sum(one.jets for one in known), sum(one.weight for one in known)
        sums = [result[name].sum(flow=True).value for name in ("d2", "d3")]
        if result["entries"] != jets or sums != [weight, weight]:
            found.append(f"{dataset}: {result['entries']} jets of {sums}, not {jets} of {weight}")
    return found


def main() -> None:
    """Make samples, analyse them, and compare with what is known."""
    parser = argparse.ArgumentParser(prog="python -m examples.dv3", description=main.__doc__)
    parser.add_argument("--source", type=Path, required=True, help="a PFNano file to resample")
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--events", type=int, default=20, help="in each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--calls", action="store_true", help="as plain calls, without Dask")
    options = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    with tempfile.TemporaryDirectory() as folder, fs.Cluster(workers=options.workers) as cluster:
        samples = make_samples(
            options.source,
            Path(folder),
            files=options.files,
            events=options.events,
            seed=options.seed,
        )
        start = time.perf_counter()
        run = by_calls(samples, cluster) if options.calls else by_dask(samples, cluster.get)
        seconds = time.perf_counter() - start
        for dataset, result in sorted(run.items()):
            total = result["d2"].sum(flow=True).value
            print(f"{dataset}: {result['entries']} jets, weight {total:g}")
        print(f"{options.files} files in {seconds:.2f} s")
        for problem in mistakes(samples, run):
            raise SystemExit(problem)


if __name__ == "__main__":
    main()
