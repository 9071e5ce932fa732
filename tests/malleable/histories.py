"""Random histories of a malleable job: what it does, and what one process finds."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse

from freestone.malleable import METHODS

__all__ = ["Data", "History", "Loop", "draw", "is_same", "replay", "step", "whole", "work"]

DTYPES = ("u1", "<i4", ">i8", "<u8")
COLUMNS = 11


@dataclass(frozen=True)
class Data:
    """What is registered: dense or CSR, before a loop, constant or variable."""

    name: str
    kind: str
    form: str
    dtype: str
    loop: int
    seed: int


@dataclass(frozen=True)
class Loop:
    """Steps, of which the last may be left by break; and how work before it is written."""

    steps: int
    is_left: bool
    by: str


@dataclass(frozen=True)
class History:
    """A whole job: the last loop goes on until all resizes are over."""

    rows: int
    settings: dict[str, Any]
    data: list[Data]
    loops: list[Loop]
    resizes: list[tuple[int, int, str]]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, table: dict[str, Any]) -> History:
        """Return the history of a table as `as_dict` makes it."""
        data = [Data(**each) for each in table["data"]]
        loops = [Loop(**each) for each in table["loops"]]
        return cls(table["rows"], table["settings"], data, loops, table["resizes"])


def draw(seed: int, largest: int = 4, most_resizes: int = 4) -> History:
    """Return the history of a seed.

    Parameters
    ----------
    seed : int
        Which.
    largest : int
        Processes at most.
    most_resizes : int
        Resizes at most; there is one at least.
    """
    choose = random.Random(seed)
    loops = [
        Loop(choose.randint(0, 12), choose.random() < 0.4, choose.choice(("once", "guard")))
        for _ in range(choose.randint(1, 4))
    ]
    data = [
        Data(
            f"data {number}",
            choose.choice(("constant", "variable", "variable")),
            choose.choice(("dense", "csr")),
            choose.choice(DTYPES),
            choose.randrange(len(loops)) if number else 0,
            choose.randrange(1000),
        )
        for number in range(choose.randint(1, 5))
    ]
    resizes, size, at = [], 2, 0
    for _ in range(choose.randint(1, most_resizes)):
        at += choose.randint(0, 9)
        size = choose.choice([other for other in range(1, largest + 1) if other != size])
        resizes.append((at, size, str(choose.choice(METHODS))))
    settings = {
        "share": choose.random() < 0.5,
        "relabel": choose.random() < 0.8,
        "check_every": choose.choice((1, 1, 1, 3)),
        "balance": choose.choice(("rows", "nonzeros", [1.0, 2.0, 0.0, 3.0, 1.0, 1.0])),
    }
    rows = choose.randint(1, 60)
    if choose.random() < 0.3:
        settings |= {"minimal": True, "balance": "rows"}
    return History(rows, settings, data, loops, resizes)


def whole(data: Data, rows: int) -> Any:
    """Return all rows, as they are registered."""
    chosen = np.random.default_rng(data.seed)
    if data.form == "dense":
        shape = (rows, *chosen.integers(1, 5, chosen.integers(0, 3)))
        return chosen.integers(0, 200, shape).astype(data.dtype)
    lengths = chosen.integers(0, 4, rows) * (chosen.random(rows) < 0.7)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    values = chosen.integers(0, 200, pointers[-1]).astype(np.dtype(data.dtype).newbyteorder("="))
    columns = chosen.integers(0, COLUMNS, pointers[-1]).astype(np.int32)
    return scipy.sparse.csr_array((values, columns, pointers.astype(np.int32)), (rows, COLUMNS))


def values(local: Any) -> Any:
    """Return the numbers of an array or matrix, in place."""
    return local.data if scipy.sparse.issparse(local) else local


def step(local: Any, index: int) -> None:
    """Change all values as a step does."""
    found = values(local)
    found += np.asarray(index % 5 + 1).astype(found.dtype)


def work(local: Any) -> None:
    """Change all values as work between loops does."""
    found = values(local)
    found *= np.asarray(3).astype(found.dtype)


def replay(history: History, trace: list[tuple[int, int]]) -> list[Any]:
    """Return what one process finds that takes the same steps, given by loop and index."""
    found: dict[str, Any] = {}
    for number in range(len(history.loops)):
        for data in history.data:
            if data.loop == number:
                found[data.name] = whole(data, history.rows)
        changing = [
            found[d.name] for d in history.data if d.kind == "variable" and d.loop <= number
        ]
        for local in changing:
            work(local)
        for index in (index for loop, index in trace if loop == number):
            for local in changing:
                step(local, index)
    return [found[data.name] for data in history.data]


def is_same(parts: Any, want: Any) -> bool:
    """Tell whether the rows of all ranks are those of the whole, bit for bit."""
    if not scipy.sparse.issparse(want):
        is_type = all(part.dtype == want.dtype for part in parts)
        return is_type and np.array_equal(np.concatenate(parts), want)
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    columns = np.concatenate([part.indices for part in parts])
    numbers = np.concatenate([values(part) for part in parts])
    return (
        np.array_equal(lengths, np.diff(want.indptr))
        and np.array_equal(columns, want.indices)
        and np.array_equal(numbers, want.data)
    )
