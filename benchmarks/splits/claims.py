"""What was wanted of split, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks import common
from benchmarks.splits.cases import CASES, CORES

DASK = ("dask blocks", "dask rechunk", "dask split", "dask materialize")
RIVALS = ("dask rechunk", "dask split", "dask materialize")
OURS = ("freestone split", "freestone materialize")
MANY = 1152


def claims(
    report: common.Report,
    per_core: Sequence[int],
    resident: Sequence[int],
    trees: Sequence[int],
) -> list[common.Claim]:
    """Compare with what was wanted."""
    found = [claim for name in CASES for claim in _flat(report, name, per_core)]
    found += [claim for name in CASES for claim in _beside_dask(report, name, per_core)]
    found += _many(report)
    found += [claim for name in ("histogram", "kmeans") for claim in _kernels(report, name)]
    for blocks in resident:
        value = report.median("freestone resident", f"iteration at {blocks}")
        found.append(common.at_most(f"an iteration over {blocks} blocks", value, 1, "ms"))
    exponent = _exponent(report, trees)
    found.append(common.at_most("look-ups grow as the tree to the power of", exponent, 0.2, ""))
    return found


def _exponent(report: common.Report, trees: Sequence[int]) -> float | None:
    """Return how look-ups grow: 1 as the tree itself, hardly above 0 as its logarithm."""
    first = report.median("trees", f"look-ups at {trees[0]}")
    last = report.median("trees", f"look-ups at {trees[-1]}")
    growth = common.ratio(last, first)
    return None if growth is None else math.log(growth) / math.log(trees[-1] / trees[0])


def _flat(report: common.Report, name: str, per_core: Sequence[int]) -> list[common.Claim]:
    times = [report.median("sweep", f"{name} split at {each}") for each in per_core]
    spread = None if None in times else common.ratio(_most(times), _least(times))
    ours, theirs = times[0], report.median("sweep", f"{name} blocks at {per_core[0]}")
    return [
        common.at_most(f"{name}: split, slowest to fastest", spread, 1.10, "x"),
        common.at_most(
            f"{name}: split to a call per block, balanced", common.ratio(ours, theirs), 1.03, "x"
        ),
    ]


def _beside_dask(report: common.Report, name: str, per_core: Sequence[int]) -> list[common.Claim]:
    found = []
    for each in per_core:
        case = f"{name} {each}"
        ours = _least(report.median(subject, case) for subject in OURS)
        theirs = _least(report.median(subject, case) for subject in RIVALS)
        label = f"{name}, {each} per core: to Dask's best of rechunk and split"
        found.append(common.at_most(label, common.ratio(ours, theirs), 1.0, "x"))
    return found


def _many(report: common.Report) -> list[common.Claim]:
    found = []
    for name, times in (("histogram", 10), ("kmeans", 25)):
        case = f"{name} {MANY}"
        ours = report.median("freestone split", case)
        theirs = report.median("dask blocks", case)
        label = f"{name}, {MANY} per core: Dask's baseline to split"
        found.append(common.at_least(label, common.ratio(theirs, ours), times, "x"))
    for name in CASES:
        for kernel in ("", ", best kernel"):
            found += _calls(report, name, kernel)
    return found


def _calls(report: common.Report, name: str, kernel: str) -> list[common.Claim]:
    """Compare a call per block with split, and with what its kernel alone takes."""
    case, label = f"{name} {MANY}", f"{name}, {MANY} per core: a call per block"
    blocks = report.median(f"freestone blocks{kernel}", case)
    ours = report.median(f"freestone split{kernel}", case)
    alone = report.median(f"plain kernel per block{kernel}", name)
    return [
        common.at_most(f"{label} to split{kernel}", common.ratio(blocks, ours), 1.5, "x"),
        common.at_most(f"{label} to its kernel{kernel}", common.ratio(blocks, alone), 1.5, "x"),
    ]


def _kernels(report: common.Report, name: str) -> list[common.Claim]:
    subject = "freestone split, best kernel"
    cases = [case for case in report.figures.get(subject, {}) if case.startswith(f"{name} ")]
    best = _least(report.median(subject, case) for case in cases)
    dask = _least(report.median(subject, case) for subject in DASK for case in cases)
    plain = report.median("plain plain", name)
    loop = report.median("plain compiled loop", name)
    share = None if loop is None else loop / CORES
    return [
        common.at_least(f"{name}: Dask's fastest to our kernel", common.ratio(dask, best), 3, "x"),
        common.at_most(
            f"{name}: our kernel to NumPy's or scikit-learn's", common.ratio(best, plain), 1, "x"
        ),
        common.at_most(
            f"{name}: our kernel to a compiled loop by the cores", common.ratio(best, share), 1, "x"
        ),
    ]


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
