"""Data that the ranks have at the start: loaded by each, and the same on all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from freestone.errors import RegistrationError
from freestone.malleable import plans, together
from freestone.malleable.arrays import Array, Description, Kind
from freestone.malleable.config import Config
from freestone.malleable.membership import Membership
from freestone.malleable.parts import form_of
from freestone.malleable.plans import Rows
from freestone.malleable.storage import reserve
from freestone.malleable.transfer import make_arrays

__all__ = ["Load", "again", "dealt", "register", "unmovable"]

Load = Callable[[int, int], Any]
# What is an array of numbers and no more, by whatever name.
_PLAIN = (np.ndarray, np.memmap, np.matrix, np.recarray)


def register(
    membership: Membership,
    config: Config,
    name: str,
    kind: Kind,
    load: Load,
    rows: int | None,
    layouts: Mapping[int, Rows],
) -> tuple[Array, Rows]:
    """Load the rows of each rank; all ranks call it together.

    Parameters
    ----------
    layouts : mapping of int to Rows
        Today's, by number of rows: arrays of as many rows lie alike, also after a resize.

    Returns
    -------
    Array, Rows
        What this rank has, and how the rows are dealt to all.

    Raises
    ------
    RegistrationError
        On all ranks, if one has something else.
    """
    layout = layouts.get(rows or 0) or dealt(rows or 0, membership.size, config)
    start, stop = layout.of(membership.rank)
    local, problem = _load(name, load, start, stop, rows)
    description = _agree(membership, config, name, kind, local, rows, problem)
    no_room = _no_room(membership, description)
    if no_room:
        raise RegistrationError(no_room, name=name)
    array = make_arrays(membership.data, [description], {}, config.timeout_s)[name]
    nonzeros = _nonzeros(local)
    before = int(membership.data.exscan(nonzeros) or 0)
    array.take_layout(layout, membership.rank, {start: before, stop: before + nonzeros})
    array.fill(local)
    membership.data.Barrier()
    return array, layout


def again(array: Array, kind: Kind, rows: int | None) -> Array:
    """Return an array that there is already, as joining ranks find all of them.

    Raises
    ------
    RegistrationError
        If it is another one.
    """
    if array.kind != kind or rows not in (None, array.rows):
        raise RegistrationError(
            f"{array.name!r} is registered as {kind} of {rows} rows, and was as {array!r}; "
            "register each name once, alike on all ranks",
            name=array.name,
        )
    return array


def unmovable(membership: Membership, config: Config, arrays: Iterable[Array]) -> str:
    """Return why what the program has made of its data can't be moved, the same on all ranks."""
    watched = [array for array in arrays if array.kind == "variable" and array.form.is_ragged]
    if not watched:
        return ""
    mine = next(filter(None, (array.problem() for array in watched)), "")
    what = "looking at matrices that change"
    found = together.gather_all(membership.data, mine, config.timeout_s, what)
    return next(
        (f"RegistrationError: rank {r}: {text}" for r, text in enumerate(found) if text), ""
    )


def dealt(rows: int, size: int, config: Config) -> Rows:
    """Return how rows are dealt to the ranks that a job begins with."""
    if isinstance(config.balance, str):
        return plans.even(rows, size)
    return plans.weighted(rows, list(config.balance)[:size])


def _load(name: str, load: Load, start: int, stop: int, rows: int | None) -> tuple[Any, str]:
    """Return this rank's rows, and what is wrong with them."""
    if rows is None or rows < 1:
        return None, f"{name!r} has {rows!r} rows in all; give rows=, or set it in the Config"
    local = load(start, stop)
    problem = _problem_of(local)
    if problem:
        return None, f"{name!r} {problem}"
    if not _is_csr(local):
        local = np.asarray(local)
    if local.dtype.hasobject:
        return None, f"{name!r} holds Python objects; give numbers, or use replicated()"
    if local.ndim == 0 or local.shape[0] != stop - start:
        shape = tuple(local.shape)
        return None, f"{name!r} has shape {shape} where rows {start} to {stop} were asked for"
    return local, ""


def _problem_of(local: Any) -> str:
    """Return why something is neither an array nor a CSR matrix of rows, if it is neither."""
    kind = type(local).__name__
    if hasattr(local, "tocsr"):
        if not _is_csr(local):
            return f"is a {kind} in the form {local.format!r}; give its .tocsr()"
        return "" if local.ndim == 2 else f"is a {kind} of shape {local.shape}; give it 2 axes"
    if isinstance(local, np.ma.MaskedArray):
        return "is a masked array, whose mask would be lost; register its data and mask apart"
    if isinstance(local, np.ndarray) and type(local) not in _PLAIN:
        return f"is a {kind}, of which only the numbers would be kept; give np.asarray(...) of it"
    return ""


def _no_room(membership: Membership, description: Description) -> str:
    """Return why not all ranks can reserve addresses for an array, if so; collective."""
    problem = ""
    try:
        reserve([part.nbytes for part in description.form.parts])
    except OSError as error:
        problem = f"{description.name!r}: {error}"
    found = enumerate(membership.data.allgather(problem))
    return next((f"rank {rank}: {text}" for rank, text in found if text), "")


def _agree(
    membership: Membership,
    config: Config,
    name: str,
    kind: Kind,
    local: Any,
    rows: int | None,
    problem: str,
) -> Description:
    """Return what all ranks have registered, or raise on all of them."""
    form = None if problem else form_of(local, rows or 0, 0)
    shared = config.share and kind == "constant"
    mine = (name, kind, form, shared)
    all_of_them = membership.data.allgather((mine, _nonzeros(local), problem))
    for rank, (theirs, _, their_problem) in enumerate(all_of_them):
        if their_problem:
            raise RegistrationError(f"rank {rank}: {their_problem}", name=name)
        if theirs != all_of_them[0][0]:
            raise RegistrationError(
                f"{_reported(all_of_them[0][0])} on rank 0 and {_reported(theirs)} on rank {rank}; "
                "register the same on all ranks, in the same order",
                name=name,
            )
    total = sum(count for _, count, _ in all_of_them)
    return Description(name, kind, form_of(local, rows or 0, total), shared)


def _is_csr(local: Any) -> bool:
    return getattr(local, "format", None) == "csr"


def _nonzeros(local: Any) -> int:
    return int(local.indptr[-1]) if _is_csr(local) else 0


def _reported(mine: tuple[Any, ...]) -> str:
    name, kind, form = mine[:3]
    if form is None:
        return f"{name!r} is {kind}"
    types = ", ".join(str(p.dtype) if p.dtype.names else p.dtype.str for p in form.parts)
    return f"{name!r} is {kind}, {form.kind}, {form.rows} rows of {form.trailing} ({types})"
