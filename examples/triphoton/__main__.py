"""Run RS-TriPhoton: ``python -m examples.triphoton --source nano_tree.root --files 60``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import dask

import freestone as fs
from examples.resampled import run
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


def analyse(samples: list[Sample], cluster: fs.Cluster, calls: bool, folder: Path) -> Any:
    """Run the analysis one way or the other."""
    if calls:
        return by_calls(samples, cluster)
    return by_dask(samples, cluster.get, str(folder / "skim.parquet"))


def tell(samples: list[Sample], results: dict[str, Any]) -> list[str]:
    """Print how much was found; what is wrong with it."""
    pairs, triples = (results[name].sum() for name in ("pairs", "triples"))
    print(f"{results['events']} events, {pairs:g} pairs, {triples:g} triples")
    known = sum(sample.events for sample in samples)
    return [] if results["events"] == known else [f"{results['events']} events passed, not {known}"]


def main() -> None:
    """Make samples, skim and merge them, and compare with what is known."""
    run(str(main.__doc__), "a NanoAOD file to resample", 500, make_samples, analyse, tell)


if __name__ == "__main__":
    main()
