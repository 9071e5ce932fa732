"""Random Dask graphs: a cluster must give what `dask.get` gives."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import dask
from dask._task_spec import Alias, DataNode, Dict, List, Task, TaskRef

import freestone as fs
from tests.fuzz.fuzzers import Check

__all__ = ["checking", "make", "plain", "problem_of"]

_OPTIONS: list[dict[str, Any]] = [{}, {}, {"fuse": False}, {"tree": False}, {"keep": "session"}]


def tally(*values: Any, **more: Any) -> tuple[int, int]:
    """Count arguments."""
    return len(values), len(more)


def wrap(*values: Any) -> list[Any]:
    """Give the arguments."""
    return [*values]


def call(function: Any = None, *values: Any) -> Any:
    """Call what is a function."""
    return function(*values) if callable(function) else [function, *values]


def name(value: Any = None, *_: Any) -> Any:
    """Name what is a function."""
    return value.__name__ if callable(value) else value


def both(one: Any = None, other: Any = None, *, third: Any = None) -> dict[str, Any]:
    """Put arguments into a dict."""
    return {"one": one, "other": other, "third": third}


FUNCTIONS: list[Callable[..., Any]] = [tally, wrap, call, name, both]
_CALLED = FUNCTIONS[:4]


def plain(value: Any) -> Any:
    """Give a value in which functions are their names, to compare and to print."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if callable(value):
        return f"<{value.__name__}>"
    return value


class _Maker:
    """Makes one graph."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        offset = self._random.randrange(100)
        self._values: list[Any] = [
            *FUNCTIONS,
            *(lambda *values: (offset, len(values)), 1, 2.5, "text", None, (), [], {}),
            *([*range(40)], {"f": tally, "n": [1, 2]}, [wrap, tally], "x" * 50),
        ]
        self._keys: list[Any] = []

    def graph(self) -> tuple[dict[Any, Any], list[Any]]:
        """Give a graph and the keys to ask for."""
        graph: dict[Any, Any] = {}
        style = self._random.choice([self._legacy, self._spec, self._either])
        for number in range(self._random.randrange(2, 30)):
            key: Any = self._random.choice([f"k{number}", ("k", number), ("k", number, "x")])
            graph[key] = style(key)
            self._keys.append(key)
        return graph, self._random.sample(self._keys, self._random.randrange(1, len(graph) + 1))

    def _either(self, key: Any) -> Any:
        return self._random.choice([self._legacy, self._spec])(key)

    def _legacy(self, _: Any) -> Any:
        kind = self._random.random()
        if kind < 0.1:
            return self._value()
        if kind < 0.2 and self._keys:
            return self._random.choice(self._keys)
        return self._task(0)

    def _value(self) -> Any:
        return self._random.choice(self._values)

    def _task(self, depth: int) -> Any:
        count = self._random.randrange(4) if self._random.random() < 0.95 else 20
        return (self._random.choice(_CALLED), *(self._part(depth + 1) for _ in range(count)))

    def _part(self, depth: int) -> Any:
        kind = self._random.random()
        if kind < 0.45 and self._keys:
            return self._random.choice(self._keys)
        if kind < 0.6 and depth < 3:
            return [self._part(depth + 1) for _ in range(self._random.randrange(4))]
        if kind < 0.7 and depth < 3:
            return self._task(depth)
        return self._value()

    def _spec(self, key: Any) -> Any:
        kind = self._random.random()
        if kind < 0.1:
            return DataNode(key, self._value())
        if kind < 0.2 and self._keys:
            return Alias(key, self._random.choice(self._keys))
        return self._spec_task(key, 0)

    def _spec_task(self, key: Any, depth: int) -> Any:
        if self._random.random() < 0.2:
            given = {name: self._spec_part(depth + 1) for name in ("other", "third")}
            return Task(key, both, self._spec_part(depth + 1), **given)
        parts = [self._spec_part(depth + 1) for _ in range(self._random.randrange(4))]
        return Task(key, self._random.choice(_CALLED), *parts)

    def _spec_part(self, depth: int) -> Any:
        kind = self._random.random()
        if kind < 0.45 and self._keys:
            return TaskRef(self._random.choice(self._keys))
        if depth < 3 and kind < 0.55:
            return List(*(self._spec_part(depth + 1) for _ in range(self._random.randrange(4))))
        if depth < 3 and kind < 0.6:
            return Dict({name: self._spec_part(depth + 1) for name in "ab"})
        if depth < 3 and kind < 0.7:
            return self._spec_task(None, depth)
        if kind < 0.75:
            return DataNode(None, self._value())
        return self._value()


def make(seed: int) -> tuple[dict[Any, Any], list[Any], dict[str, Any]]:
    """Make a graph, the keys to ask for, and options of `Cluster.get`."""
    graph, keys = _Maker(str(seed)).graph()
    return graph, keys, random.Random(f"{seed}/options").choice(_OPTIONS)


@contextlib.contextmanager
def checking() -> Iterator[Check]:
    """Open the check. Graphs that `dask.get` can't run are passed over."""
    with fs.Cluster(executors=2, memory="256MiB", disk="256MiB") as cluster:
        yield lambda seed: problem_of(cluster, seed)


def problem_of(cluster: fs.Cluster, seed: int) -> str | None:
    """Return what is wrong with what a cluster makes of a graph."""
    graph, keys, options = make(seed)
    try:
        expected = plain(dask.get(dict(graph), keys))
    except Exception:
        return None
    try:
        found = plain(cluster.get(dict(graph), keys, **options))
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    if found == expected:
        return None
    nodes = "\n".join(f"  {key!r}: {node!r}" for key, node in graph.items())
    reported = f"expected {expected}\nfound    {found}"
    return f"another result with options {options}\nkeys {keys}\n{reported}\n{nodes}"
