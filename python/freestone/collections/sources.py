"""What collections are made of: functions, futures and values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from freestone.client import Client, current
from freestone.client.environments import adapt
from freestone.client.future import Future
from freestone.collections.blocking import Offsets, offsets_of, total_rows
from freestone.collections.compacting import compacted
from freestone.collections.keeping import copied
from freestone.collections.making import Spec, check_blocks, describe, make_block, map_block
from freestone.collections.placing import dealt, drawn_to
from freestone.collections.rows import is_table
from freestone.errors.keywords import suggest_keywords

__all__ = ["Sources", "made", "made_of", "name_of", "put_all"]


@suggest_keywords
class Sources:
    """The ways to make a collection that are alike for all kinds."""

    kind: ClassVar[str] = ""
    """What files are read as: array, frame or bag."""

    def __init__(self, pieces: Sequence[Any], offsets: Offsets | None, *, name: str) -> None:
        raise NotImplementedError

    @classmethod
    def from_futures(
        cls, futures: Iterable[Any], *, rows: Sequence[int] | None = None, name: str | None = None
    ) -> Self:
        """Make a collection of blocks that are in the cluster, or will be.

        Parameters
        ----------
        futures
            Of blocks that go together, in order: arrays of the same columns and dtype, tables of
            the same columns, or lists.
        rows
            How many rows each has; asked of the workers by default, which waits for them.
        name
            What messages call it.

        Raises
        ------
        BlockShapeError
            When they don't go together; raised when shape or sizes are first asked for.
        """
        offsets = None if rows is None else offsets_of(rows)
        return cls(list(futures), offsets, name=name or cls.kind)

    @classmethod
    def from_blocks(cls, blocks: Iterable[Any], *, name: str | None = None) -> Self:
        """Make a collection of blocks that are here, and give them to the open cluster.

        Raises
        ------
        BlockTypeError, BlockShapeError
            For a block of another kind.
        TypeError
            For futures: `from_futures` takes those.
        """
        return cls._of_blocks(blocks, put_all, name)

    @classmethod
    def _from_own(cls, blocks: Iterable[Any], *, name: str) -> Self:
        """Make a collection of blocks that nobody else has: without a cluster they need no copy."""
        return cls._of_blocks(blocks, _put_own, name)

    @classmethod
    def _of_blocks(
        cls, blocks: Iterable[Any], put: Callable[[Sequence[Any]], list[Any]], name: str | None
    ) -> Self:
        spec = Spec(collection=name or cls.kind, kind=cls.kind)
        checked = [_checked(spec, block, index) for index, block in enumerate(blocks)]
        if cls.kind == "array":
            check_blocks(spec, [describe(block) for block in checked])
        return cls(put(checked), total_rows(checked), name=spec.collection)

    @classmethod
    def _made(
        cls,
        offsets: Offsets,
        function: Callable[[int, int], Any],
        name: str | None,
        options: dict[str, Any],
    ) -> Self:
        """Make each block on a worker, by a function of where it begins and ends."""
        spec = Spec(collection=name or name_of(function), kind=cls.kind)
        return cls(made(spec, function, offsets, options), offsets, name=spec.collection)


def _checked(spec: Spec, block: Any, index: int) -> Any:
    if isinstance(block, Future):
        raise TypeError(
            f"block {index} of {spec.collection!r} is a future, {block!r}; use from_futures"
        )
    return spec.check(block, index, None)


def made(
    spec: Spec,
    function: Callable[[int, int], Any],
    offsets: Offsets,
    options: dict[str, Any],
    hosts: Sequence[Sequence[str]] = (),
) -> list[Any]:
    """Make blocks by a function of first and last row: futures, or values without a cluster.

    `hosts` says what holds each block, if that makes a difference.
    """
    call = functools.partial(make_block, spec, function)
    starts, stops = offsets[:-1].tolist(), offsets[1:].tolist()
    return _each_near(call, (starts, stops), offsets, {"name": spec.collection, **options}, hosts)


def made_of(
    spec: Spec,
    function: Callable[[Any], Any],
    rows: Sequence[int | None],
    values: Sequence[Any],
    weights: Offsets,
    hosts: Sequence[Sequence[str]] = (),
) -> list[Any]:
    """Make each block by a function of a value, spread over the workers as `weights` grow.

    `rows` says how many rows each is to have, where that is known, and `hosts` what holds it.
    """
    call = functools.partial(map_block, spec, function)
    return _each_near(call, (rows, values), weights, {"name": spec.collection}, hosts)


def _each_near(
    call: Callable[..., Any],
    columns: tuple[Sequence[Any], ...],
    weights: Offsets,
    options: dict[str, Any],
    hosts: Sequence[Sequence[str]],
) -> list[Any]:
    """Call a function of a number and what each column has there, each call near its worker."""
    count = len(weights) - 1
    client = current()
    if client is None:
        return [call(*which).value for which in zip(range(count), *columns, strict=True)]
    places = drawn_to(client, weights, hosts) if any(hosts) else dealt(client, weights)
    runs: dict[int | None, list[int]] = {}
    for index, place in enumerate(places):
        runs.setdefault(place, []).append(index)
    dealt_calls = {
        worker: (which, *([column[each] for each in which] for column in columns))
        for worker, which in runs.items()
    }
    futures: list[Any] = [None] * count
    for worker, found in _mapped(client, call, dealt_calls, options).items():
        for index, future in zip(runs[worker], found, strict=True):
            futures[index] = future
    return futures


def _mapped(
    client: Client,
    function: Callable[..., Any],
    dealt_calls: Mapping[int | None, tuple[list[Any], ...]],
    options: dict[str, Any],
) -> dict[int | None, list[Any]]:
    """Submit as `Cluster.map` does what each worker is to have; the function is named once."""
    called, first, plain = adapt(function, options)
    if plain.get("tag") is not None or "worker" in plain:
        mapped = {}
        for worker, columns in dealt_calls.items():
            near = {} if "worker" in plain else {"near": worker}
            calls = zip(*columns, strict=True)
            mapped[worker] = client.map(function, calls, near | options)
        return mapped
    plain = dict(plain)
    number = client.define(called, plain.pop("name", None), hoist=plain.pop("hoist", True))
    found: dict[int | None, list[Any]] = {}
    for worker, columns in dealt_calls.items():
        given = [(*first, *args) for args in zip(*columns, strict=True)]
        found[worker] = client.call_each(number, given, {"near": worker, **plain})
    return found


def put_all(blocks: Sequence[Any]) -> list[Any]:
    """Give values to the open cluster; without one they are copied."""
    if current() is None:
        blocks = [copied(block) for block in blocks]
    return _put_own(blocks)


def _put_own(blocks: Sequence[Any]) -> list[Any]:
    """Give values that nobody else has to the open cluster; without one they stay as they are."""
    client = current()
    if client is None:
        return list(blocks)
    return [client.put(compacted(block) if is_table(block) else block) for block in blocks]


def name_of(function: Any) -> str:
    """Return what people call a function."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return str(name)
