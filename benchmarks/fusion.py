"""Measure elementwise chains: fused by freestone, and as NumPy and its peers compute them.

A chain of four operations with a sum at its end reads two matrices and writes nothing; one without
reads two and writes one. Each is set beside the bandwidth of a plain copy on two threads, taken in
the same rounds: bytes that have to be moved, divided by the time. What memory a chain takes while
it runs, beyond its operands, is measured as well, in arrays: none for a sum, the result for a map.

``--cells 10 100`` takes matrices of so many millions of cells, each size in an interpreter of its
own, so that none begins with what another one left; with ``--more``, sizes come in pieces.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import common, plots

QUESTION = "How fast is a chain of elementwise operations?"
MILLIONS = {True: (10,), False: (10, 100)}
ARRAYS_AT_ONCE = 8
"""At most: two operands, frames made of them, and what NumPy keeps between operations."""
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


def case_of(name: str, dtype: str, millions: int) -> str:
    """Name a chain on cells of a type, so many millions of them."""
    return f"{name} {dtype}, {millions} M"


def measure(report: common.Report, dtype: str, millions: int, system: str) -> None:
    """Take one sample of both chains: gigabytes that have to be moved in a second."""
    rng = np.random.default_rng(1)
    x = rng.random((millions * 10_000, 100)).astype(dtype)
    y = rng.random(x.shape).astype(dtype)
    try:
        chains = SYSTEMS[system](x, y)
    except ImportError as error:
        report.absent[system] = str(error)
        return
    arrays = COPIED if system == COPY else ARRAYS
    for name, chain in chains.items():
        case = case_of(name, dtype, millions)
        taken = peak(chain) / x.nbytes
        if system != COPY:
            report.add(system, f"{case}, memory", taken, "arrays")
        begin = time.perf_counter()
        chain()
        seconds = time.perf_counter() - begin
        rate = arrays[name] * x.nbytes / seconds / 1e9
        report.add(system, case, rate, "GB/s", seconds=seconds)


def claims(report: common.Report, sizes: Sequence[int]) -> list[common.Claim]:
    """Compare with what was wanted: ahead of all, and 80 % of the copy's bandwidth."""
    found = []
    for name, dtype, millions in product(ARRAYS, DTYPES, sizes):
        case = case_of(name, dtype, millions)
        own = report.median("freestone", case)
        peers = {
            system: rate
            for system, rate in report.series(case).items()
            if system not in ("freestone", COPY)
        }
        best = max(peers.values(), default=None)
        found.append(
            common.at_least(f"{case}, over the best peer", common.ratio(own, best), 1, "x")
        )
        plain = report.median(COPY, case_of("map", dtype, millions))
        found.append(common.at_least(f"{case}, of a copy", common.ratio(own, plain), 0.8, "x"))
        most = report.median("freestone", f"{case}, memory")
        found.append(common.at_most(f"{case}, memory", most, RESULTS[name] + 0.1, "arrays"))
    return found


def sizes_of(report: common.Report) -> list[int]:
    """Return the sizes that were measured, in millions of cells."""
    cases = {case.split(", ")[1] for cases in report.figures.values() for case in cases}
    return sorted(int(words.removesuffix(" M")) for words in cases)


def fits(report: common.Report, dtype: str, millions: int) -> bool:
    """Tell whether the machine has the memory for a size."""
    needed = ARRAYS_AT_ONCE * millions * 1_000_000 * np.dtype(dtype).itemsize
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) * 1024
    if needed > free:
        words = f"{needed >> 20} MiB are needed, {free >> 20} MiB are free"
        report.absent[f"{dtype}, {millions} M"] = words
    return needed <= free


def take_apart(options: common.Options, sizes: Sequence[int]) -> None:
    """Measure each size in an interpreter of its own, all into one report."""
    for at, millions in enumerate(sizes):
        words = [sys.executable, "-m", "benchmarks.fusion", "--cells", str(millions)]
        words += ["--rounds", str(options.rounds), "--json", str(options.json.resolve())]
        words += ["--more"] * (options.more or at > 0) + ["--quick"] * options.quick
        words += ["--only", *options.only] if options.only else []
        subprocess.run(words, cwd=common.ROOT, check=True)


def main() -> None:
    """Measure, report and draw."""
    parser = common.parser("fusion", QUESTION, list(SYSTEMS))
    parser.add_argument(
        "--cells",
        type=int,
        nargs="+",
        metavar="MILLIONS",
        help="sizes of matrices; 10 and 100, or 10 with --quick",
    )
    given = parser.parse_args()
    options = common.options("fusion", given)
    sizes = tuple(given.cells or MILLIONS[options.quick])
    if len(sizes) > 1:
        take_apart(options, sizes)
        return
    before = common.machine()
    report = common.Report(QUESTION)
    report.go_on(options)
    asked = options.only or tuple(SYSTEMS)
    for dtype in DTYPES:
        if fits(report, dtype, sizes[0]):
            take = partial(measure, report, dtype, sizes[0])
            common.interleave(options.rounds, asked, take)
    measured = sizes_of(report)
    report.claims = claims(report, measured)
    cases = [case_of(*words) for words in product(ARRAYS, DTYPES, measured)]
    panels = [plots.Panel(case, "GB/s", report.series(case)) for case in cases]
    report.pictures = [plots.Dots(QUESTION, panels, list(SYSTEMS))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
