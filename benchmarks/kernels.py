"""Measure every kernel against its counterpart in NumPy, SciPy or pandas, in one run.

A kernel is what one operation of the language does to its operands, with all that lies between a
lazy value and its result. A ratio above 1 means that freestone is ahead. What is below 0.9 needs a
reason in ``docs/performance/engine.md``.

Both are measured in one process, in turns. BLAS's threads look for work for 0.1 s after a product,
on cores that the other one's threads want: a turn begins when no thread of the process runs, and
with runs that are not counted. Who begins changes from round to round.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from scipy import sparse

import freestone as fs
from benchmarks import common, plots
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.run.kernels import elementwise as elementwise_table
from freestone.lang.settings import Settings

QUESTION = "How fast is each kernel, beside NumPy, SciPy and pandas?"
SHAPES = {True: (500, 400), False: (2000, 1000)}
LEAST = 0.9
TAKES = 5
WARM_RUNS, WARM_S = 3, 0.02
STILL_S, STILL_STEPS, REST_S = 0.01, 3, 2.0
Array = np.ndarray[Any, Any]
Chain = Callable[[], Any]
Case = tuple[str, Chain, Chain]
CONTEXT = DaphneContext()
SETTINGS = Settings(vec=True, partitioning="GSS", select_matrix_repr=True)

UNARY: dict[str, Callable[..., Any]] = {
    **elementwise_table.UNARY,
    "round": np.round,
    "isNan": np.isnan,
}
BINARY: dict[str, Callable[..., Any]] = {
    "__add__": np.add,
    "__sub__": np.subtract,
    "__mul__": np.multiply,
    "__truediv__": np.divide,
    "__mod__": np.fmod,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "__eq__": np.equal,
    "__ne__": np.not_equal,
    "__lt__": np.less,
    "__le__": np.less_equal,
    "__gt__": np.greater,
    "__ge__": np.greater_equal,
}
AGGREGATES: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "aggMin": np.min,
    "aggMax": np.max,
    "mean": np.mean,
    "var": np.var,
    "stddev": np.std,
}
CUMULATIVE: dict[str, Callable[..., Any]] = {
    "cumSum": np.cumsum,
    "cumProd": np.cumprod,
    "cumMin": np.minimum.accumulate,
    "cumMax": np.maximum.accumulate,
}


def _lazily(expression: Any) -> Chain:
    return lambda: expression.compute(SETTINGS)


def elementwise(x: Array, y: Array) -> Iterator[Case]:
    """Operations of cells, of one side and of two."""
    one, two = CONTEXT.from_numpy(x), CONTEXT.from_numpy(y)
    for name, function in UNARY.items():
        yield f"{name}(X)", _lazily(getattr(one, name)()), partial(function, x)
    for name, peer in BINARY.items():
        own = _lazily(getattr(one, name)(two))
        yield f"{name.strip('_')}(X, Y)", own, partial(peer, x, y)
    row, column = x[:1].copy(), x[:, :1].copy()
    yield "X + scalar", _lazily(one + 2.0), lambda: x + 2.0
    yield "X + row", _lazily(one + CONTEXT.from_numpy(row)), lambda: x + row
    yield "X + column", _lazily(one + CONTEXT.from_numpy(column)), lambda: x + column
    yield "as.f32(X)", _lazily(one.asType("f32")), lambda: x.astype("f4")
    yield "as.si64(X)", _lazily(one.asType("si64")), lambda: x.astype("i8")
    wide = np.linspace(0.0, 1.0, x.shape[1])
    tall = CONTEXT.from_numpy(column)
    yield (
        "outerMul",
        _lazily(tall.outerMul(CONTEXT.from_numpy(wide.reshape(1, -1)))),
        lambda: np.outer(column, wide),
    )
    first: Any = fs.Array.from_numpy(x, len(x))
    second: Any = fs.Array.from_numpy(y, len(y))
    chosen: Any = np.where(first > 0.5, first, second)
    yield (
        "where(X > a, X, Y)",
        chosen.compute,
        lambda: np.where(x > 0.5, x, y),
    )
    yield (
        "X[X > a].sum()",
        first[first > 0.5].sum().compute,
        lambda: x[x > 0.5].sum(),
    )
    yield "replace", _lazily(one.replace(0.5, 1.0)), lambda: np.where(x == 0.5, 1.0, x)


def typed(x: Array) -> Iterator[Case]:
    """One chain of each kind, of other types."""
    for dtype in ("f4", "i8", "i4", "i1", "u8", "u4", "u1"):
        a = (x * 100).astype(dtype)
        lazy = CONTEXT.from_numpy(a)
        yield f"X + X, {a.dtype}", _lazily(lazy + lazy), partial(np.add, a, a)
        yield (
            f"aggMax(X), {a.dtype}",
            _lazily(lazy.aggMax()),
            partial(np.max, a),
        )
        yield (
            f"sum(X), {a.dtype}",
            _lazily(lazy.sum()),
            partial(np.sum, a, dtype=a.dtype),
        )


def aggregation(x: Array) -> Iterator[Case]:
    """All cells, rows, columns, groups, and from the first row on."""
    one = CONTEXT.from_numpy(x)
    for name, function in AGGREGATES.items():
        yield f"{name}(X)", _lazily(getattr(one, name)()), partial(function, x)
        for axis, word in ((0, "rows"), (1, "columns")):
            yield (
                f"{name}(X), {word}",
                _lazily(getattr(one, name)(axis)),
                partial(function, x, axis=1 - axis),
            )
    for name, find in (("idxMin", np.argmin), ("idxMax", np.argmax)):
        for axis, word in ((0, "rows"), (1, "columns")):
            yield (
                f"{name}(X), {word}",
                _lazily(getattr(one, name)(axis)),
                partial(find, x, axis=1 - axis),
            )
    for name, accumulate in CUMULATIVE.items():
        yield f"{name}(X)", _lazily(getattr(one, name)()), partial(accumulate, x, axis=0)
    values = x.ravel()
    groups = np.random.default_rng(3).integers(0, 1000, values.size)
    lazy = CONTEXT.from_numpy(values)
    ids = CONTEXT.from_numpy(groups)
    series = pd.Series(values)
    for name, word in (("sum", "sum"), ("mean", "mean"), ("aggMax", "max"), ("var", "var")):
        yield (
            f"{name}(x), groups",
            _lazily(getattr(lazy, name)(ids, 1000)),
            partial(_grouped, series, groups, word),
        )


def _grouped(series: Any, groups: Array, name: str) -> Any:
    return getattr(series.groupby(groups), name)()


def algebra(x: Array) -> Iterator[Case]:
    """Products and what is solved with them."""
    side = x.shape[1] // 2
    square = x[:side, :side].copy() + np.eye(side) * side
    vector, tall = x[0].reshape(-1, 1).copy(), x[:, :1].copy()
    one, s = CONTEXT.from_numpy(x), CONTEXT.from_numpy(square)
    v, t = CONTEXT.from_numpy(vector), CONTEXT.from_numpy(tall)
    yield "A @ B", _lazily(s @ s), lambda: square @ square
    yield "A @ x", _lazily(one @ v), lambda: x @ vector
    yield "t(A) @ x", _lazily(one.t() @ t), lambda: x.T @ tall
    yield "t(A) @ A", _lazily(one.t() @ one), lambda: x.T @ x
    yield "sum(A * B)", _lazily((one * one).sum()), lambda: np.vdot(x, x)
    yield "solve(A, b)", _lazily(s.solve(s[:, 0:1])), lambda: np.linalg.solve(square, square[:, :1])
    yield "diagVector(A)", _lazily(s.diagVector()), lambda: np.diagonal(square).copy()
    yield "diagMatrix(x)", _lazily(v.diagMatrix()), lambda: np.diag(vector[:, 0])
    yield "lowerTri(A)", _lazily(s.lowerTri(True, True)), lambda: np.tril(square)


def reorganisation(x: Array) -> Iterator[Case]:
    """Yield what moves cells."""
    one, thin = CONTEXT.from_numpy(x), x[:, :4].copy()
    few = CONTEXT.from_numpy(thin)
    yield "t(X)", _lazily(one.t()), lambda: np.ascontiguousarray(x.T)
    yield "reverse(X)", _lazily(one.reverse()), lambda: np.ascontiguousarray(x[::-1])
    yield "cbind(X, X)", _lazily(one.cbind(one)), lambda: np.hstack([x, x])
    yield "rbind(X, X)", _lazily(one.rbind(one)), lambda: np.vstack([x, x])
    yield "reshape(X)", _lazily(one.reshape(1, x.size)), lambda: x.reshape(1, -1)
    half = x.shape[0] // 2
    yield "X[a:b, ]", _lazily(one[:half]), lambda: x[:half].copy()
    yield (
        "order(X, column)",
        _lazily(few.order(0, True, False)),
        lambda: thin[np.argsort(thin[:, 0], kind="stable")],
    )


def compressed(x: Array) -> Iterator[Case]:
    """CSR, one cell of fifty."""
    side = x.shape[0] * 10
    graph = sparse.random_array((side, side), density=0.002, rng=5, format="csr")
    vector, wide = np.linspace(0, 1, side).reshape(-1, 1), np.ones((side, 8))
    row = vector.T.copy()
    g, v, w = CONTEXT.from_scipy(graph), CONTEXT.from_numpy(vector), CONTEXT.from_numpy(wide)
    r = CONTEXT.from_numpy(row)
    small = sparse.random_array((side, side), density=5 / side, rng=6, format="csr")
    m = CONTEXT.from_scipy(small)
    yield "CSR @ x", _lazily(g @ v), lambda: graph @ vector
    yield "CSR @ B", _lazily(g @ w), lambda: graph @ wide
    yield "CSR @ CSR", _lazily(m @ m), lambda: small @ small
    yield "CSR * row", _lazily(g * r), lambda: graph.multiply(row).tocsr()
    yield "sum(CSR)", _lazily(g.sum()), lambda: graph.sum()
    yield "sum(CSR), rows", _lazily(g.sum(0)), lambda: graph.sum(axis=1)
    yield "sum(CSR), columns", _lazily(g.sum(1)), lambda: graph.sum(axis=0)
    yield "aggMax(CSR), rows", _lazily(g.aggMax(0)), lambda: graph.max(axis=1).toarray()
    yield "t(CSR)", _lazily(g.t()), lambda: graph.T.tocsr()


def generation(x: Array) -> Iterator[Case]:
    """Yield what makes matrices."""
    rows, columns = x.shape
    drawn = np.random.Generator(np.random.MT19937(1))
    yield "fill", _lazily(CONTEXT.fill(1.5, rows, columns)), lambda: np.full((rows, columns), 1.5)
    yield (
        "seq",
        _lazily(CONTEXT.seq(0.0, float(x.size), 1.0)),
        lambda: np.arange(0.0, x.size + 1.0),
    )
    yield (
        "rand",
        _lazily(CONTEXT.rand(rows, columns, 0.0, 1.0, 1.0, 1)),
        lambda: drawn.random((rows, columns)),
    )


def relational(x: Array) -> Iterator[Case]:
    """Frames, beside pandas."""
    count = x.size // 10
    rng = np.random.default_rng(7)
    left = pd.DataFrame({"a": rng.integers(0, count, count), "b": rng.random(count)})
    right = pd.DataFrame({"c": rng.permutation(count), "d": rng.random(count)})
    one, two = CONTEXT.from_pandas(left), CONTEXT.from_pandas(right)
    yield (
        "innerJoin",
        _lazily(one.innerJoin(two, "a", "c")),
        lambda: left.merge(right, left_on="a", right_on="c"),
    )
    few = pd.DataFrame({"a": rng.integers(0, 100, count), "b": rng.random(count)})
    yield (
        "groupSum",
        _lazily(CONTEXT.from_pandas(few).groupSum("a", "b")),
        lambda: few.groupby("a", as_index=False)["b"].sum(),
    )


def cases(shape: tuple[int, int]) -> Iterator[Case]:
    """Yield each kernel's name, its lazy value's ``compute``, and its counterpart."""
    rng = np.random.default_rng(1)
    x, y = rng.random(shape), rng.random(shape) + 0.5
    yield from elementwise(x, y)
    yield from typed(x)
    yield from aggregation(x)
    yield from algebra(x)
    yield from reorganisation(x)
    yield from compressed(x)
    yield from generation(x)
    yield from relational(x)


def rest() -> None:
    """Wait until no thread of this process runs, or for as long as none should.

    Several steps without one: on a busy machine a thread that looks for work gets no core in some.
    """
    still, end = 0, time.perf_counter() + REST_S
    while still < STILL_STEPS and time.perf_counter() < end:
        begin = time.process_time()
        time.sleep(STILL_S)
        still = still + 1 if time.process_time() - begin < STILL_S / 10 else 0


def timed(chain: Chain) -> float:
    """Return the milliseconds of the middle one of some runs, by threads that were at rest."""
    found = []
    rest()
    runs, begin = 0, time.perf_counter()
    # What is computed again is planned by then, and a last cache has learnt what is read again.
    while runs < WARM_RUNS or time.perf_counter() - begin < WARM_S:
        chain()
        runs += 1
    for _ in range(TAKES):
        begin = time.perf_counter()
        chain()
        found.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(found)


def table(report: common.Report) -> str:
    """Return all kernels as a table, the slowest beside its counterpart first."""
    own, peers = report.figures["freestone"], report.figures["counterpart"]
    ratios = {name: peers[name]["median"] / own[name]["median"] for name in own}
    lines = ["| kernel | freestone, ms | counterpart, ms | ratio |", "| --- | ---: | ---: | ---: |"]
    for name in sorted(ratios, key=lambda name: ratios[name]):
        first, second = own[name]["median"], peers[name]["median"]
        lines.append(f"| `{name}` | {first:.3f} | {second:.3f} | {ratios[name]:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, report and draw."""
    parser = common.parser("kernels", QUESTION)
    parser.add_argument("--kernels", metavar="TEXT", default="", help="those with it in the name")
    given = parser.parse_args()
    options = common.options("kernels", given)
    before = common.machine()
    report = common.Report(QUESTION, {"shape": SHAPES[options.quick], "takes": TAKES})
    found = {name: pair for name, *pair in cases(SHAPES[options.quick]) if given.kernels in name}
    turns = {name: itertools.count() for name in found}

    def measure(name: str) -> None:
        subjects = [*zip(("freestone", "counterpart"), found[name], strict=True)]
        for subject, chain in subjects[:: 1 - 2 * (next(turns[name]) % 2)]:
            report.add(subject, name, timed(chain), "ms")

    with np.errstate(all="ignore"):
        common.interleave(options.rounds, found, measure)
    for name in found:
        value = common.ratio(report.median("counterpart", name), report.median("freestone", name))
        report.claims.append(common.at_least(name, value, LEAST, "x"))
    ratios = {claim.name: claim.value for claim in report.claims if claim.value is not None}
    low = dict(sorted(ratios.items(), key=lambda pair: pair[1])[:24])
    panel = plots.Panel("the 24 lowest ratios", "times as fast as the counterpart", low)
    report.pictures = [plots.Dots(QUESTION, [panel], list(low))]
    common.write(report, options, before)
    print(table(report))


if __name__ == "__main__":
    main()
