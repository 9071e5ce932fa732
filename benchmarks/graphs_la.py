"""Measure an iteration of PageRank and of connected components, as linear algebra.

In parts, so that each fits a few minutes (``--part``, with ``--more`` into the same report):

``peers``
    On a dense matrix, on CSR of R-MAT, made symmetric, and on uniform ones of as many
    bytes: freestone's lazy arrays, and scripts that read the matrix from a file, both fused; NumPy
    or SciPy as a user writes them; python-graphblas.
``whole``
    Components to the end, beside ``scipy.sparse.csgraph``, which uses another algorithm.
``schedules``
    freestone alone, by every scheme, queue layout and victim order: what the automatic choice
    loses to the best one. The least of a hundred noisy medians is below what its way really takes:
    so each way is chosen by the samples of odd rounds, and timed by those of even ones.
``policies``
    By NUMA policy and queue layout: the paper's figures 4 to 9. On a machine with one memory node
    they show that the policies cost nothing.
"""

from __future__ import annotations

import atexit
import io
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
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
from freestone.lang.run.kernels.memory import empty
from freestone.lang.script import run_text
from freestone.lang.settings import LAYOUTS, NUMA, SCHEMES, VICTIMS, Settings
from freestone.storage import write

QUESTION = "How long does an iteration of PageRank and of components take?"
SCALES = {True: 16, False: 20}
SIDES = {True: 4_000, False: 10_000}
EDGE_FACTOR = 16
STEPS = 3
OURS = ("freestone", "freestone script")
PEERS = ("numpy and scipy", "graphblas")
SYSTEMS = (*OURS, *PEERS)
PARTS = ("peers", "whole", "schedules", "policies")
ALGORITHMS = ("pagerank", "components")
SCRIPT = """
G = readMatrix($file);
x = seq(1.0, as.f64(nrow(G)));
x = {step};
begin = now();
for (i in 1:$steps) {{ x = {step}; }}
print(now() - begin);
"""
STEP = {
    "pagerank": "(G @ x) * 0.85 + 0.15 / as.f64(nrow(G))",
    "components": "max(aggMax(G * t(x), 0), x)",
}
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
def uniform(scale: int) -> Any:
    """Make a symmetric graph of 2 ** scale vertices, with edges anywhere."""
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 1 << scale, (2, EDGE_FACTOR << scale))
    places = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    graph = sparse.csr_array((np.ones(len(places[0])), places), shape=(1 << scale, 1 << scale))
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
    if system == "graphblas":
        return _graphblas(graph)
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


def _graphblas(graph: Any) -> dict[str, Step]:
    """Make the steps as a user of python-graphblas does; it has no use for dense matrices."""
    if isinstance(graph, np.ndarray):
        return {}
    import graphblas as gb

    matrix, count = gb.io.from_scipy_sparse(graph), graph.shape[0]

    def pagerank(p: Array) -> Array:
        vector = gb.Vector.from_dense(p.ravel())
        product = matrix.mxv(vector, gb.semiring.plus_times).new()
        return np.asarray(product.to_dense(0.0) * 0.85 + 0.15 / count).reshape(-1, 1)

    def components(c: Array) -> Array:
        vector = gb.Vector.from_dense(c.ravel())
        most = vector.dup()
        most(gb.binary.max) << matrix.mxv(vector, gb.semiring.max_times)
        return np.asarray(most.to_dense(0.0)).reshape(-1, 1)

    return {"pagerank": pagerank, "components": components}


def graphs_of(quick: bool) -> dict[str, Callable[[], Any]]:
    """Return what makes each graph."""
    scale = SCALES[quick]
    return {
        "csr": partial(rmat, scale),
        "uniform csr": partial(uniform, scale),
        "dense": partial(dense, SIDES[quick]),
    }


def measure(report: common.Report, kind: str, graph: Any, settings: Settings, system: str) -> None:
    """Take a sample of each algorithm: milliseconds of a step."""
    if system == "freestone script":
        for name in ALGORITHMS:
            report.add(system, f"{name} {kind}", scripted(name, kind, graph, settings), "ms")
        return
    try:
        made = steps(system, graph, settings)
    except ImportError as error:
        report.absent[system] = str(error)
        return
    for name, step in made.items():
        report.add(system, f"{name} {kind}", timed(step, graph.shape[0]), "ms")


def scripted(algorithm: str, kind: str, graph: Any, settings: Settings) -> float:
    """Return the milliseconds of a step in a script, which reads the graph and takes the time."""
    path, out = folder() / f"{kind.replace(' ', '-')}.dbdf", io.StringIO()
    if not path.exists():
        write(graph, path)
    chosen = replace(settings, select_matrix_repr=not isinstance(graph, np.ndarray))
    words = (f'file="{path}"', f"steps={STEPS}")
    run_text(SCRIPT.format(step=STEP[algorithm]), words, chosen, out)
    return int(out.getvalue()) / STEPS / 1e6


@cache
def folder() -> Path:
    """Return a folder that goes when this process ends."""
    path = tempfile.mkdtemp(prefix="graphs-la-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def timed(step: Step, count: int) -> float:
    """Return the milliseconds of a step, after one that is not counted."""
    value = step(np.arange(1.0, count + 1).reshape(-1, 1))
    begin = time.perf_counter()
    for _ in range(STEPS):
        value = step(value)
    return (time.perf_counter() - begin) / STEPS * 1e3


def whole(report: common.Report, graph: Any, system: str) -> None:
    """Find all components of a graph."""
    begin = time.perf_counter()
    if system == "scipy.sparse.csgraph":
        count = int(sparse.csgraph.connected_components(graph, directed=False)[0])
    else:
        step = steps(system, graph, Settings(vec=True, partitioning="AUTO"))["components"]
        before = np.arange(1.0, graph.shape[0] + 1).reshape(-1, 1)
        while not np.array_equal(now := step(before), before):
            before = now
        count = len(np.unique(before))
    report.add(system, "components csr, to the end", time.perf_counter() - begin, "s", count=count)


def schedules() -> Iterator[tuple[str, Settings]]:
    """Yield all ways to run a pipeline; a single queue has no victims."""
    for scheme, layout, victims in product(SCHEMES, LAYOUTS, VICTIMS):
        if layout == "CENTRALIZED" and victims != "SEQ":
            continue
        settings = Settings(
            vec=True, partitioning=scheme, queue_layout=layout, victim_selection=victims
        )
        yield f"{scheme} {layout} {victims}", settings


def scheduled(report: common.Report, graph: Any, ways: dict[str, Settings], name: str) -> None:
    """Take a step of each algorithm in one way."""
    for algorithm, step in _lazy(graph, ways[name]).items():
        report.add(name, f"{algorithm} csr, by schedule", timed(step, graph.shape[0]), "ms")


def policies() -> dict[str, Settings]:
    """Return the ways of figures 4 to 9: policies, by queue layout."""
    return {
        f"{policy} {layout}": Settings(
            vec=True, partitioning="GSS", numa=policy, queue_layout=layout
        )
        for policy, layout in product(NUMA, LAYOUTS)
    }


class _Run:
    """What memory needs to know of a run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings


def placed(graph: Any, settings: Settings) -> Any:
    """Copy a graph to where a policy places it."""

    def copied(array: Array) -> Array:
        out = empty(_Run(settings), array.shape, array.dtype)
        out[...] = array
        return out

    if isinstance(graph, np.ndarray):
        return copied(graph)
    parts = copied(graph.data), copied(graph.indices), graph.indptr
    return sparse.csr_array(parts, shape=graph.shape)


def by_policy(report: common.Report, kind: str, graph: Any, name: str) -> None:
    """Take a step of each algorithm, of a graph that a policy placed."""
    settings = policies()[name]
    for algorithm, step in _lazy(placed(graph, settings), settings).items():
        report.add(name, f"{algorithm} {kind}, by policy", timed(step, graph.shape[0]), "ms")


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""
    found = []
    for case, wanted in (
        ("pagerank csr", 1.7),
        ("components csr", 1.7),
        ("pagerank uniform csr", 1.7),
        ("components uniform csr", 1.7),
        ("pagerank dense", 1.0),
        ("components dense", 1.0),
    ):
        for ours, system in product(OURS, PEERS):
            if system == "graphblas" and "dense" in case:
                continue
            speedup = common.ratio(report.median(system, case), report.median(ours, case))
            least = wanted if system == PEERS[0] else 1.0
            name = f"{case}, {ours} over {system}"
            found.append(common.at_least(name, speedup, least, "x"))
    for algorithm in ALGORITHMS:
        case = f"{algorithm} csr, by schedule"
        value = common.ratio(best_of(report, case, "AUTO"), best_of(report, case))
        found.append(common.at_most(f"AUTO over the best, {algorithm}", value, 1.05, "x"))
    return found


def best_of(report: common.Report, case: str, scheme: str = "") -> float | None:
    """Return what the best way of a scheme, or of all, takes: chosen and timed by other samples."""
    ways = [
        figures[case]["samples"]
        for name, figures in report.figures.items()
        if case in figures and name.startswith(scheme) and len(figures[case]["samples"]) > 1
    ]
    chosen = min(ways, key=lambda samples: statistics.median(samples[::2]), default=None)
    return None if chosen is None else statistics.median(chosen[1::2])


def take(report: common.Report, part: str, options: common.Options) -> None:
    """Measure one part."""
    kinds = graphs_of(options.quick)
    settings = Settings(vec=True, partitioning="AUTO")
    if part == "peers":
        for kind, make in kinds.items():
            sample = partial(measure, report, kind, make(), settings)
            common.interleave(options.rounds, options.only or SYSTEMS, sample)
    elif part == "whole":
        systems = ("freestone", "graphblas", "scipy.sparse.csgraph")
        common.interleave(options.rounds, systems, partial(whole, report, kinds["csr"]()))
    elif part == "schedules":
        ways = dict(schedules())
        common.interleave(options.rounds, ways, partial(scheduled, report, kinds["csr"](), ways))
    else:
        for kind in ("csr", "dense"):
            sample = partial(by_policy, report, kind, kinds[kind]())
            common.interleave(options.rounds, policies(), sample)


def pictures(report: common.Report, options: common.Options) -> list[plots.Picture]:
    """Return the peers; and, where they were measured, the schedules and the policies."""

    def panels(cases: list[str]) -> list[plots.Panel]:
        found = [plots.Panel(case, "ms a step", report.series(case)) for case in cases]
        return [panel for panel in found if panel.values]

    kinds = graphs_of(options.quick)
    drawn: dict[str, tuple[list[plots.Panel], list[str]]] = {
        "": (panels([f"{a} {kind}" for kind in kinds for a in ALGORITHMS]), list(SYSTEMS)),
        "-schedules": (
            [_by_scheme(report, algorithm) for algorithm in ALGORITHMS],
            list(SCHEMES),
        ),
        "-policies": (
            panels([f"{a} {kind}, by policy" for kind in ("csr", "dense") for a in ALGORITHMS]),
            list(policies()),
        ),
    }
    return [plots.Dots(QUESTION, found, order, end) for end, (found, order) in drawn.items()]


def _by_scheme(report: common.Report, algorithm: str) -> plots.Panel:
    """Return each scheme with its best layout: all ways would be too many rows."""
    best: dict[str, float] = {}
    for name, value in report.series(f"{algorithm} csr, by schedule").items():
        scheme = name.split()[0]
        best[scheme] = min(value, best.get(scheme, value))
    return plots.Panel(f"{algorithm} csr, each scheme's best layout", "ms a step", best)


def main() -> None:
    """Measure, report and draw."""
    parser = common.parser("graphs_la", QUESTION, SYSTEMS)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    options = common.options("graphs_la", given)
    before = common.machine()
    scale = SCALES[options.quick]
    report = common.Report(QUESTION, {"scale": scale, "side": SIDES[options.quick]})
    report.go_on(options)
    for part in given.part:
        take(report, part, options)
        report.claims = claims(report)
        common.save(report, options, before)
    report.pictures = pictures(report, options)
    common.write(report, options, before)


if __name__ == "__main__":
    main()
