"""Measure an iteration of PageRank and of connected components, as linear algebra.

On a dense matrix and on compressed rows (R-MAT, made symmetric): freestone's lazy arrays, fused,
and NumPy or SciPy as a user writes them. Then freestone alone, by every scheme, queue layout and
victim order: what the automatic choice loses to the best one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import sparse

from benchmarks import common, plots
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.settings import LAYOUTS, SCHEMES, VICTIMS, Settings

QUESTION = "How long does an iteration of PageRank and of components take?"
SCALES = {True: 16, False: 20}
SIDES = {True: 4_000, False: 10_000}
EDGE_FACTOR = 16
STEPS = 3
SYSTEMS = ("freestone", "numpy and scipy")
Array = np.ndarray[Any, Any]
Step = Callable[[Array], Array]


@cache
def rmat(scale: int) -> Any:
    """Make a symmetric graph of 2 ** scale vertices, by R-MAT with the usual probabilities."""
    rng = np.random.default_rng(1)
    count = EDGE_FACTOR << scale
    rows, columns = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        drawn = rng.random(count)
        rows = 2 * rows + (drawn >= 0.76)
        columns = 2 * columns + (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95))
    ones = np.ones(2 * count)
    places = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    graph = sparse.csr_array((ones, places), shape=(1 << scale, 1 << scale))
    graph.sum_duplicates()
    graph.data[:] = 1.0
    return graph


@cache
def dense(side: int) -> Array:
    """Make a dense graph in which one of a hundred pairs has an edge."""
    rng = np.random.default_rng(2)
    return np.asarray(rng.random((side, side)) < 0.01).astype(np.float64)


def steps(system: str, graph: Any, settings: Settings) -> dict[str, Step]:
    """Make one step of each algorithm, for a graph."""
    return _lazy(graph, settings) if system == "freestone" else _plain(graph)


def _lazy(graph: Any, settings: Settings) -> dict[str, Step]:
    context = DaphneContext()
    is_dense = isinstance(graph, np.ndarray)
    g = context.from_numpy(graph) if is_dense else context.from_scipy(graph)
    count = graph.shape[0]

    def pagerank(p: Array) -> Array:
        stepped = (g @ context.from_numpy(p)) * 0.85 + 0.15 / count
        return np.asarray(stepped.compute(settings))

    def components(c: Array) -> Array:
        column = context.from_numpy(c)
        return np.asarray((g * c.T).aggMax(0).max(column).compute(settings))

    return {"pagerank": pagerank, "components": components}


def _plain(graph: Any) -> dict[str, Step]:
    count = graph.shape[0]

    def components(c: Array) -> Array:
        most = (graph * c.T).max(axis=1)
        most = most.toarray() if sparse.issparse(most) else most
        return np.asarray(np.maximum(most.reshape(-1, 1), c))

    return {
        "pagerank": lambda p: np.asarray((graph @ p) * 0.85 + 0.15 / count),
        "components": components,
    }


def measure(report: common.Report, kind: str, graph: Any, settings: Settings, system: str) -> None:
    """Take a sample of each algorithm: milliseconds of a step."""
    start = np.arange(1.0, graph.shape[0] + 1).reshape(-1, 1)
    for name, step in steps(system, graph, settings).items():
        value = step(start)
        begin = time.perf_counter()
        for _ in range(STEPS):
            value = step(value)
        elapsed = (time.perf_counter() - begin) / STEPS * 1e3
        report.add(system, f"{name} {kind}", elapsed, "ms")


def schedules() -> Iterator[tuple[str, Settings]]:
    """Yield all ways to run a pipeline; a single queue has no victims."""
    for scheme, layout, victims in product(SCHEMES, LAYOUTS, VICTIMS):
        if layout == "CENTRALIZED" and victims != "SEQ":
            continue
        name = f"{scheme} {layout} {victims}"
        yield (
            name,
            Settings(
                vec=True,
                partitioning=scheme,
                queue_layout=layout,
                victim_selection=victims,
                grain_size=64,
            ),
        )


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""
    found = []
    for case, wanted in (
        ("pagerank csr", 1.7),
        ("components csr", 1.7),
        ("pagerank dense", 1.0),
        ("components dense", 1.0),
    ):
        speedup = common.ratio(report.median(SYSTEMS[1], case), report.median("freestone", case))
        found.append(common.at_least(f"{case}, over NumPy and SciPy", speedup, wanted, "x"))
    medians = report.series("components csr, by schedule")
    ours = min((v for name, v in medians.items() if name.startswith("AUTO")), default=None)
    best = min(medians.values(), default=None)
    found.append(common.at_most("AUTO, over the best", common.ratio(ours, best), 1.05, "x"))
    return found


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("graphs_la", QUESTION, SYSTEMS)
    before = common.machine()
    graphs = {"csr": rmat(SCALES[options.quick]), "dense": dense(SIDES[options.quick])}
    report = common.Report(QUESTION, {"stored": int(graphs["csr"].nnz), "steps": STEPS})
    settings = Settings(vec=True, partitioning="GSS")
    for kind, graph in graphs.items():
        take = partial(measure, report, kind, graph, settings)
        common.interleave(options.rounds, options.only or SYSTEMS, take)
    ways = dict(schedules())

    def scheduled(name: str) -> None:
        graph = graphs["csr"]
        step = _lazy(graph, ways[name])["components"]
        start = np.arange(1.0, graph.shape[0] + 1).reshape(-1, 1)
        begin = time.perf_counter()
        step(start)
        report.add(name, "components csr, by schedule", (time.perf_counter() - begin) * 1e3, "ms")

    common.interleave(options.rounds, ways, scheduled)
    report.claims = claims(report)
    common.write(report, options, before)
    cases = [f"{name} {kind}" for kind in graphs for name in ("pagerank", "components")]
    panels = [plots.Panel(case, "ms a step", report.series(case)) for case in cases]
    plots.dots(panels, options.json.with_suffix(".png"), QUESTION, list(SYSTEMS))


if __name__ == "__main__":
    main()
