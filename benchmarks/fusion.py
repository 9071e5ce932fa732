"""Measure elementwise chains: fused by freestone, and as NumPy and its peers compute them.

A chain of four operations with a sum at its end reads two matrices and writes nothing; one without
reads two and writes one. Each is set beside the bandwidth of a plain copy on two threads, taken in
the same rounds: bytes that have to be moved, divided by the time. What memory a chain takes while
it runs, beyond its operands, is measured as well, in arrays: none for a sum, the result for a map.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import common, plots

QUESTION = "How fast is a chain of elementwise operations?"
CELLS = {True: 10_000_000, False: 25_000_000}
DTYPES = ("float64", "float32")
COPY = "copy, 2 threads"
Array = np.ndarray[Any, Any]
Chain = Callable[[], Any]


def freestone(x: Array, y: Array) -> dict[str, Chain]:
    """Make the chains of lazy arrays."""
    from freestone.lang.daphnelib import DaphneContext

    context = DaphneContext()
    one, two = context.from_numpy(x), context.from_numpy(y)
    scale, share = x.dtype.type(2), x.dtype.type(3)
    chain = (one * scale + two) / share
    return {"sum": (chain > x.dtype.type(0.5)).sum().compute, "map": chain.compute}


def numpy(x: Array, y: Array) -> dict[str, Chain]:
    """Make the chains as a user writes them."""
    two, three, half = (x.dtype.type(number) for number in (2, 3, 0.5))
    return {
        "sum": lambda: ((x * two + y) / three > half).sum(),
        "map": lambda: (x * two + y) / three,
    }


def numexpr(x: Array, y: Array) -> dict[str, Chain]:
    """Make the chains as texts."""
    import numexpr as ne

    ne.set_num_threads(2)
    names = {"x": x, "y": y, "a": x.dtype.type(2), "b": x.dtype.type(3), "c": x.dtype.type(0.5)}
    return {
        "sum": lambda: ne.evaluate("(x * a + y) / b > c", names).sum(),
        "map": lambda: ne.evaluate("(x * a + y) / b", names),
    }


def numba(x: Array, y: Array) -> dict[str, Chain]:
    """Make the chains as loops that are compiled."""
    import numba as nb

    nb.set_num_threads(2)

    @nb.njit(parallel=True)  # type: ignore[untyped-decorator, unused-ignore]
    def total(x: Array, y: Array, two: Any, three: Any, half: Any) -> int:
        count = 0
        for at in nb.prange(x.size):
            if (x[at] * two + y[at]) / three > half:
                count += 1
        return count

    @nb.njit(parallel=True)  # type: ignore[untyped-decorator, unused-ignore]
    def mapped(x: Array, y: Array, two: Any, three: Any) -> Array:
        out = np.empty_like(x)
        for at in nb.prange(x.size):
            out[at] = (x[at] * two + y[at]) / three
        return out

    one, two = x.ravel(), y.ravel()
    numbers = [x.dtype.type(number) for number in (2, 3, 0.5)]
    return {
        "sum": lambda: total(one, two, *numbers),
        "map": lambda: mapped(one, two, *numbers[:2]),
    }


def polars(x: Array, y: Array) -> dict[str, Chain]:
    """Make the chains of columns, on polars' own threads."""
    import polars as pl

    frame = pl.DataFrame({"x": x.ravel(), "y": y.ravel()}).lazy()
    two, three, half = (pl.lit(x.dtype.type(number)) for number in (2, 3, 0.5))
    chain = (pl.col("x") * two + pl.col("y")) / three
    total, mapped = frame.select((chain > half).sum()), frame.select(chain)
    return {"sum": total.collect, "map": mapped.collect}


def copy(x: Array, y: Array) -> dict[str, Chain]:
    """Copy one matrix, half of it on each of two threads; and only read both."""
    out = np.empty_like(x)
    half = len(x) // 2

    def both(work: Callable[[slice], Any]) -> None:
        other = threading.Thread(target=work, args=(slice(half),))
        other.start()
        work(slice(half, None))
        other.join()

    return {
        "sum": lambda: both(lambda part: (x[part].sum(), y[part].sum())),
        "map": lambda: both(lambda part: np.copyto(out[part], x[part])),
    }


SYSTEMS: dict[str, Callable[[Array, Array], dict[str, Chain]]] = {
    "freestone": freestone,
    "numpy": numpy,
    "numexpr": numexpr,
    "numba": numba,
    "polars": polars,
    COPY: copy,
}
RESULTS = {"sum": 0, "map": 1}
ARRAYS = {"sum": 2, "map": 3}
COPIED = {"sum": 2, "map": 2}


def peak(chain: Chain) -> int:
    """Return the most bytes that this process had more while a chain ran."""
    status = Path("/proc/self/status")

    def read(name: str) -> int:
        line = next(line for line in status.read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) * 1024

    # The mark of the most memory is set back to what there is now.
    Path("/proc/self/clear_refs").write_text("5")
    before = read("VmRSS")
    chain()
    return max(0, read("VmHWM") - before)


def measure(report: common.Report, dtype: str, cells: int, system: str) -> None:
    """Take one sample of both chains: gigabytes that have to be moved in a second."""
    rng = np.random.default_rng(1)
    x = rng.random((cells // 100, 100)).astype(dtype)
    y = rng.random(x.shape).astype(dtype)
    try:
        chains = SYSTEMS[system](x, y)
    except ImportError as error:
        report.absent[system] = str(error)
        return
    arrays = COPIED if system == COPY else ARRAYS
    for name, chain in chains.items():
        taken = peak(chain) / x.nbytes
        if system != COPY:
            report.add(system, f"{name} {dtype}, memory", taken, "arrays")
        begin = time.perf_counter()
        chain()
        seconds = time.perf_counter() - begin
        rate = arrays[name] * x.nbytes / seconds / 1e9
        report.add(system, f"{name} {dtype}", rate, "GB/s", seconds=seconds)


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted: ahead of all, and 80 % of the copy's bandwidth."""
    found = []
    for case in (f"{name} {dtype}" for name in ARRAYS for dtype in DTYPES):
        own = report.median("freestone", case)
        peers = {
            name: rate
            for name, rate in report.series(case).items()
            if name not in ("freestone", COPY)
        }
        best = max(peers.values(), default=None)
        found.append(
            common.at_least(f"{case}, over the best peer", common.ratio(own, best), 1, "x")
        )
        plain = report.median(COPY, f"map {case.split()[1]}")
        found.append(common.at_least(f"{case}, of a copy", common.ratio(own, plain), 0.8, "x"))
        most = report.median("freestone", f"{case}, memory")
        results = RESULTS[case.split()[0]]
        found.append(common.at_most(f"{case}, memory", most, results + 0.1, "arrays"))
    return found


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("fusion", QUESTION, list(SYSTEMS))
    before = common.machine()
    cells = CELLS[options.quick]
    report = common.Report(QUESTION, {"cells": cells})
    asked = options.only or tuple(SYSTEMS)
    for dtype in DTYPES:
        take = partial(measure, report, dtype, cells)
        common.interleave(options.rounds, asked, take)
    report.claims = claims(report)
    common.write(report, options, before)
    panels = [
        plots.Panel(case, "GB/s", report.series(case))
        for case in (f"{name} {dtype}" for name in ARRAYS for dtype in DTYPES)
    ]
    plots.dots(panels, options.json.with_suffix(".png"), QUESTION, list(SYSTEMS))


if __name__ == "__main__":
    main()
