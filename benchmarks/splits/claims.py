"""What was wanted of split, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks import common
from benchmarks.splits.cases import CASES

DASK = ("dask blocks", "dask rechunk", "dask split", "dask materialize")
RIVALS = ("dask rechunk", "dask split", "dask materialize")
OURS = ("freestone split", "freestone materialize")
MANY = 1152
COMPILED_S = {"histogram": 0.096, "kmeans": 0.59}
"""A compiled loop over the same data in one process: the figures of the project's notes."""


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
    times = [report.median("freestone split", f"{name} {each}") for each in per_core]
    spread = common.ratio(_most(times), _least(times))
    ours, theirs = times[0], report.median("freestone blocks", f"{name} {per_core[0]}")
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
        case = f"{name} {MANY}"
        blocks = report.median("freestone blocks", case)
        ours = report.median("freestone split", case)
        label = f"{name}, {MANY} per core: a call per block to split"
        found.append(common.at_most(label, common.ratio(blocks, ours), 1.5, "x"))
        blocks = report.median("freestone blocks, best kernel", case)
        ours = report.median("freestone split, best kernel", case)
        label = f"{label}, best kernel"
        found.append(common.at_most(label, common.ratio(blocks, ours), 1.5, "x"))
    return found


def _kernels(report: common.Report, name: str) -> list[common.Claim]:
    subject = "freestone split, best kernel"
    cases = [case for case in report.figures.get(subject, {}) if case.startswith(f"{name} ")]
    best = _least(report.median(subject, case) for case in cases)
    dask = _least(report.median(subject, case) for subject in DASK for case in cases)
    plain = report.median("plain plain", name)
    wanted = COMPILED_S[name] / 2
    full = best if any(case.endswith(f" {MANY}") for case in cases) else None
    return [
        common.at_least(f"{name}: Dask's fastest to our kernel", common.ratio(dask, best), 3, "x"),
        common.at_most(
            f"{name}: our kernel to NumPy's or scikit-learn's", common.ratio(best, plain), 1, "x"
        ),
        common.at_most(f"{name}: our kernel, full size", full, wanted, "s"),
    ]


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
