"""Run DV3: ``python -m examples.dv3 --source pfnano.root --files 60``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dask
from coffea.processor import accumulate

import freestone as fs
from examples.dv3.analysis import lazy_results, results_of_file
from examples.dv3.samples import Sample, make_samples
from examples.resampled import run

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


def analyse(samples: list[Sample], cluster: fs.Cluster, calls: bool, _: Path) -> Any:
    """Run the analysis one way or the other."""
    return by_calls(samples, cluster) if calls else by_dask(samples, cluster.get)


def tell(samples: list[Sample], results: dict[str, dict[str, Any]]) -> list[str]:
    """Print each dataset's sums; what is wrong with them."""
    for dataset, result in sorted(results.items()):
        total = result["d2"].sum(flow=True).value
        print(f"{dataset}: {result['entries']} jets, weight {total:g}")
    return mistakes(samples, results)


def main() -> None:
    """Make samples, analyse them, and compare with what is known."""
    warnings.simplefilter("ignore", FutureWarning)
    run(str(main.__doc__), "a PFNano file to resample", 20, make_samples, analyse, tell)


if __name__ == "__main__":
    main()
