"""How rows are dealt to ranks: evenly, by what they weigh, or as a program says."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.errors import ConfigurationError, RegistrationError
from freestone.malleable import plans, together
from freestone.malleable.arrays import Array
from freestone.malleable.config import Config
from freestone.malleable.plans import Layout, Rows, Runs

__all__ = ["deal", "require_weights"]


def deal(comm: Any, arrays: Sequence[Array], rows: int, size: int, config: Config) -> Layout:
    """Return how rows are dealt to `size` ranks; collective.

    Parameters
    ----------
    comm : mpi4py communicator
        Of the ranks that there are.
    arrays : sequence of Array
        Those whose rows are dealt so; none if no rank has rows yet.
    rows : int
        How many.
    size : int
        Of the job, from now on.
    config : Config
        What is to be even.

    Raises
    ------
    RegistrationError
        On all ranks, for weights and offsets that make no sense.

    Notes
    -----
    By weights or non-zeros each rank looks at its own rows; one or two small collectives.
    """
    balance = config.balance
    if callable(balance):
        return _as_asked(comm, balance, rows, size, config.timeout_s)
    if not isinstance(balance, str):
        return plans.weighted(rows, list(balance)[:size])
    for array in arrays:
        if array.name == config.weights:
            return _by_weights(comm, array, size, config.timeout_s)
        if balance == "nonzeros" and array.form.is_ragged:
            total = array.form.parts[1].total
            ideal = np.array([total * cut // size for cut in range(size + 1)], np.int64)
            return _cut(comm, array, array.sums(), ideal, config.timeout_s)
    return plans.even(rows, size)


def require_weights(config: Config, arrays: Mapping[str, Array]) -> None:
    """Require that the setting `weights` names data that can be weights.

    Raises
    ------
    ConfigurationError
        If it does not; on all ranks, since all register the same.
    """
    name = config.weights
    if name is None:
        return
    array = arrays.get(name)
    if array is None:
        known = ", ".join(map(repr, arrays)) or "nothing"
        problem = f"weights is {name!r}, which is not registered; there is {known}"
    elif array.kind == "constant" or array.form.kind != "dense" or not _is_one_number(array):
        problem = (
            f"weights is {name!r}, which is {array!r}; register it by "
            "world.variable, with one real number a row"
        )
    else:
        return
    raise ConfigurationError(problem, key="weights", origin="config")


def _is_one_number(array: Array) -> bool:
    (part,) = array.form.parts
    return part.per_row == 1 and part.dtype.kind in "buif"


def _as_asked(
    comm: Any, balance: Callable[[int, int], Any], rows: int, size: int, timeout_s: float
) -> Layout:
    """Return what the program's function says on rank 0."""
    answer: Layout | str = ""
    if comm.rank == 0:
        try:
            answer = _layout_of(list(balance(rows, size)), rows, size)
        except Exception as error:
            answer = f"raised {type(error).__name__}: {error}"
    answer = together.tell(comm, answer, timeout_s, "the layout of rows")
    if isinstance(answer, str):
        raise RegistrationError(f"balance({rows}, {size}) {answer}", name="balance")
    return answer


def _layout_of(found: list[Any], rows: int, size: int) -> Layout | str:
    """Return the layout that offsets or runs of rows are, or why they are none."""
    if found and isinstance(found[0], Sequence | np.ndarray):
        return _in_runs(found, rows, size)
    offsets = [operator.index(offset) for offset in found]
    is_whole = len(offsets) == size + 1 and (offsets[0], offsets[-1]) == (0, rows)
    if is_whole and offsets == sorted(offsets):
        return Rows(offsets)
    return (
        f"returned {offsets}; return {size + 1} offsets from 0 to {rows}, each at least as large "
        "as the one before: rank r gets the rows from offset r to offset r + 1; or runs of rows, "
        "each as (start, stop, rank)"
    )


def _in_runs(found: list[Any], rows: int, size: int) -> Layout | str:
    how = f"return runs of all rows from 0 to {rows}, each as (start, stop, rank), of {size} ranks"
    for run in found:
        if len(run) != 3:
            return f"returned {run!r} among its runs; {how}"
    bounds, ranks = [0], [-1]
    for start, stop, rank in sorted(tuple(map(operator.index, run)) for run in found):
        if start != bounds[-1] or stop < start or not 0 <= rank < size:
            where = f"a run from row {bounds[-1]} comes next"
            return f"returned {(start, stop, rank)}, where {where}; {how}"
        if rank == ranks[-1]:
            bounds.pop()
        else:
            ranks.append(rank)
        bounds.append(stop)
    if bounds[-1] != rows:
        return f"returned no run from row {bounds[-1]} on; {how}"
    return Runs(bounds, ranks[1:], size)


def _by_weights(comm: Any, array: Array, size: int, timeout_s: float) -> Rows:
    mine = np.asarray(array.local, np.float64).reshape(-1)
    total, problem = float(mine.sum()), ""
    if not np.isfinite(total) or (mine < 0).any():
        row = int(np.argmin(np.where(np.isfinite(mine), mine, -np.inf))) if len(mine) else 0
        problem = (
            f"row {array.start + row} weighs {mine[row]}; weights are finite and at least 0, and "
            "so are their sums"
        )
    found = together.gather_all(comm, (total, problem), timeout_s, "weights of rows")
    for rank, (_, theirs) in enumerate(found):
        if theirs:
            raise RegistrationError(f"{array.name!r} on rank {rank}: {theirs}", name=array.name)
    ends = np.concatenate([[0.0], np.cumsum([total for total, _ in found])])
    if not 0 < ends[-1] < np.inf:
        return plans.even(array.rows, size)
    # Where a rank's rows end, the next one's begin: also in the last digit.
    sums = np.concatenate([[0.0], np.cumsum(mine)]) + ends[comm.rank]
    sums = np.minimum(sums, ends[comm.rank + 1])
    sums[-1] = ends[comm.rank + 1]
    ideal = ends[-1] * (np.arange(size + 1) / size)
    return _cut(comm, array, sums, ideal, timeout_s)


def _cut(
    comm: Any,
    array: Array,
    sums: npt.NDArray[Any],
    ideal: npt.NDArray[Any],
    timeout_s: float,
) -> Rows:
    """Return the cuts nearest to ideal ones; each rank finds those in its rows.

    Parameters
    ----------
    sums : array of shape (k + 1,)
        What lies before each of this rank's `k` rows, and behind the last.
    ideal : array of shape (size + 1,)
        What shall lie before each cut.
    """
    mine = (sums[0] < ideal) & (ideal <= sums[-1])
    after = np.searchsorted(sums, ideal[mine])
    is_before = ideal[mine] - sums[after - 1] < sums[after] - ideal[mine]
    found = np.zeros(len(ideal), np.int64)
    found[mine] = array.start + after - is_before
    found[-1] = array.rows
    cuts = together.largest(comm, found, timeout_s, "cuts of rows")
    return Rows(np.maximum.accumulate(cuts).tolist())
