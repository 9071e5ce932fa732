"""Data that the ranks have at the start: loaded by each, and the same on all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from freestone.errors import RegistrationError
from freestone.malleable import together
from freestone.malleable.arrays import Array, Deal, Description, Kind
from freestone.malleable.config import Config
from freestone.malleable.dealing import deal
from freestone.malleable.membership import Membership
from freestone.malleable.parts import Form, form_of
from freestone.malleable.plans import Layout, Rows
from freestone.malleable.storage import Storage, reserve
from freestone.malleable.targets import is_whole
from freestone.malleable.transfer import make_arrays

__all__ = [
    "Load",
    "expected",
    "no_function",
    "no_name",
    "register",
    "replace",
    "twice",
    "unmovable",
]

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
    layouts: Mapping[Deal, Layout],
) -> tuple[Array, Layout]:
    """Load the rows of each rank; all ranks call it together.

    Parameters
    ----------
    layouts : mapping of int or str to Layout
        Today's, by the deal of arrays: arrays of as many rows lie alike, also after a resize.

    Returns
    -------
    Array, Layout
        What this rank has, and how the rows are dealt to all.

    Raises
    ------
    RegistrationError
        On all ranks, if one has something else.
    """
    count = rows if rows is not None and is_whole(rows, 0) else 0
    layout = layouts.get(count)
    if layout is None:
        layout = deal(membership.data, [], count, membership.size, config)
    runs = layout.runs(membership.rank) or [(0, 0)]
    local, problem = _load(name, load, runs, rows)
    description, edges = _agree(membership, config, name, kind, runs, local, rows, problem)
    _require_room(membership, [description])
    array = make_arrays(membership.data, [description], {}, config.timeout_s)[name]
    array.take_layout(layout, membership.rank, edges)
    array.fill(*local)
    membership.data.Barrier()
    return array, layout


def expected(array: Array, kind: Kind, rows: int | None) -> Array:
    """Return an array that others have registered, as joining ranks find all of them.

    Raises
    ------
    RegistrationError
        If this process registers another one.
    """
    is_as_many = bool(array.replaced) or rows in (None, array.rows)
    if array.kind != kind or not is_as_many:
        raise RegistrationError(
            f"{array.name!r} is registered as {kind} of {rows} rows, and others have {array!r}; "
            "register the same on all ranks",
            name=array.name,
        )
    return array


def no_name(name: Any) -> str:
    """Return what is wrong with a name, if it is none."""
    if isinstance(name, str) and name:
        return ""
    return f"data is registered as {name!r}; give it a name, a text that is not empty"


def no_function(call: str, given: Any) -> str:
    """Return what is wrong with what a call is given as a function, if it is none."""
    return "" if callable(given) else f"{call} is given {given!r}; give it a function"


def twice(name: str, there: object) -> str:
    """Return what is wrong with registering a name that there is."""
    return (
        f"{name!r} is registered already, as {there!r}; register each name once, and keep what "
        "that returns"
    )


def replace(
    membership: Membership, config: Config, given: Mapping[Array, Any]
) -> tuple[Deal, Rows]:
    """Give the same arrays other rows, any number on each rank; all ranks call it together.

    Returns
    -------
    int or str, Rows
        What they are dealt by from now on, and how they are.

    Raises
    ------
    RegistrationError
        On all ranks, if what one of them gives does not fit; then nothing has changed.
    """
    arrays = list(given)
    names, problem = [array.name for array in arrays], _unfit(arrays, list(given.values()))
    local = [] if problem else [_as_rows(rows) for rows in given.values()]
    mine = (problem, int(local[0].shape[0]) if local else 0)
    counted = (mine, [_nonzeros(rows) for rows in local])
    all_of_them = together.gather_all(membership.data, counted, config.timeout_s, "new rows")
    counts = _agreed_counts(names, [its for its, _ in all_of_them])
    layout = Rows([0, *np.cumsum(counts).tolist()])
    nonzeros = np.array([theirs for _, theirs in all_of_them], np.int64)
    together_with = "+".join(sorted(names))
    described = [
        array.description._replace(
            form=array.form.of(layout.rows, int(total)), replaced=together_with
        )
        for array, total in zip(arrays, nonzeros.sum(axis=0), strict=True)
    ]
    _require_room(membership, described)
    before = nonzeros[: membership.rank].sum(axis=0)
    start, stop = layout.of(membership.rank)
    for index, (array, description) in enumerate(zip(arrays, described, strict=True)):
        first, count = int(before[index]), _nonzeros(local[index])
        array.take_place(description, [Storage(part.nbytes) for part in description.form.parts])
        edges = {start: first, stop: first + count}
        array.take_layout(layout, membership.rank, edges, by_program=True)
        array.fill(local[index])
    return together_with, layout


def _agreed_counts(names: list[str], all_of_them: list[tuple[str, int]]) -> list[int]:
    """Return how many rows each rank gives, if all can give them."""
    for rank, (problem, _) in enumerate(all_of_them):
        if problem:
            raise RegistrationError(f"rank {rank}: {problem}", name=names[0] if names else "")
    return [count for _, count in all_of_them]


def _unfit(arrays: list[Array], local: list[Any]) -> str:
    """Return why rows of this rank can't be those of some arrays, if they can't."""
    if not arrays:
        return "world.replace is given no arrays; write world.replace({x: rows_of_x})"
    for array, given in zip(arrays, local, strict=True):
        problem, rows = _problem_of(given), _as_rows(given)
        own = None if problem or rows.ndim == 0 else form_of(rows, 0, 0)
        if not problem and array.kind == "constant":
            problem = "is constant: its rows stay; register it by world.variable"
        if not problem and own is None:
            problem = "has no axis of rows"
        if not problem and own is not None and _row_of(own) != _row_of(array.form):
            problem = f"has {_shown(own)}; it was registered with {_shown(array.form)}"
        if problem:
            return f"{array.name!r} {problem}"
    lengths = [_as_rows(rows).shape[0] for rows in local]
    if len(set(lengths)) > 1:
        pairs = zip(arrays, lengths, strict=True)
        each = ", ".join(f"{array.name!r} has {length}" for array, length in pairs)
        return f"arrays that are replaced together have as many rows as one another; {each}"
    return ""


def _as_rows(given: Any) -> Any:
    return given if _is_csr(given) else np.asarray(given)


def _row_of(form: Form) -> tuple[object, ...]:
    """Return what rows have in common; the indexes of a matrix may be of another type."""
    return form.kind, form.trailing, form.container, form.parts[-1].dtype


def _shown(form: Form) -> str:
    return f"rows of {form.trailing} ({form.parts[-1].dtype}), {form.container or form.kind}"


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


def _load(
    name: str, load: Load, runs: Iterable[tuple[int, int]], rows: int | None
) -> tuple[list[Any], str]:
    """Return this rank's rows, by run, and what is wrong with them."""
    if not is_whole(rows, 0):
        problem = f"{name!r} has {rows!r} rows in all; give a whole number of at least 0 as rows="
        return [], f"{problem}, or set it in the Config"
    local, problems = zip(*(_load_run(name, load, *run) for run in runs), strict=True)
    problem = next(filter(None, problems), "")
    if not problem:
        forms = [form_of(rows_of_run, 0, 0) for rows_of_run in local]
        other = next((form for form in forms if form != forms[0]), forms[0])
        if other != forms[0]:
            problem = f"{name!r} has {_shown(forms[0])} in one run, and {_shown(other)} in another"
    return list(local), problem


def _load_run(name: str, load: Load, start: int, stop: int) -> tuple[Any, str]:
    """Return a run of rows, and what is wrong with them."""
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


def _require_room(membership: Membership, described: Iterable[Description]) -> None:
    """Require that all ranks can reserve addresses for some arrays; collective."""
    problem, name = "", ""
    for description in described:
        try:
            reserve([part.nbytes for part in description.form.parts])
        except OSError as error:
            problem, name = f"{description.name!r}: {error}", description.name
    for rank, (theirs, its) in enumerate(membership.data.allgather((problem, name))):
        if theirs:
            raise RegistrationError(f"rank {rank}: {theirs}", name=its)


def _agree(
    membership: Membership,
    config: Config,
    name: str,
    kind: Kind,
    runs: Sequence[tuple[int, int]],
    local: Sequence[Any],
    rows: int | None,
    problem: str,
) -> tuple[Description, dict[int, int]]:
    """Return what all ranks have registered, or raise on all of them.

    And the elements before each row of a matrix at which a run begins or ends.
    """
    form = None if problem else form_of(local[0], rows or 0, 0)
    shared = config.share and kind == "constant"
    mine = (name, kind, form, shared)
    counted = (
        [] if problem else [(*run, _nonzeros(its)) for run, its in zip(runs, local, strict=True)]
    )
    all_of_them = membership.data.allgather((mine, counted, problem))
    for rank, (theirs, _, their_problem) in enumerate(all_of_them):
        if their_problem:
            raise RegistrationError(f"rank {rank}: {their_problem}", name=name)
        if theirs != all_of_them[0][0]:
            raise RegistrationError(
                f"{_reported(all_of_them[0][0])} on rank 0 and {_reported(theirs)} on rank {rank}; "
                "register the same on all ranks, in the same order",
                name=name,
            )
    edges, total = {0: 0}, 0
    for start, stop, nonzeros in sorted(run for _, theirs, _ in all_of_them for run in theirs):
        edges[start], total = total, total + nonzeros
        edges[stop] = total
    return Description(name, kind, form_of(local[0], rows or 0, total), shared), edges


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
