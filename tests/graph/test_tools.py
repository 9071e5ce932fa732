"""What goes once, and what goes with each call."""

from __future__ import annotations

import operator
import pickle
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from freestone.client import Client
from freestone.errors import NotSerializableError
from freestone.functions import load
from freestone.graph.compiling import Compiler, Program
from freestone.graph.durations import Kinds
from freestone.graph.program import run
from freestone.graph.reading import read
from freestone.graph.tools import Tools


def written(graph: dict[str, Any], key: str, tools: Tools, put: Any = None) -> tuple[Any, ...]:
    """Write a whole graph as one program."""
    found = read(graph, [key])
    compiler, program = Compiler(found, cast(Client, SimpleNamespace(put=put)), Kinds()), Program()
    for node in range(len(found.nodes)):
        compiler.write(program, node, tools)
    return program.seal([found.wanted[key]])


def test_a_shared_constant_is_not_in_the_calls() -> None:
    table = {str(number): float(number) for number in range(20_000)}
    graph: dict[str, Any] = {f"x{i}": (operator.getitem, table, f"{i}") for i in range(50)}
    graph["sum"] = (sum, list(graph))
    tools = Tools({})
    code, results = written(graph, "sum", tools)
    # Who meets a constant first can't know that others will.
    first, rest = code[0], code[1:]
    assert len(pickle.dumps(first)) > 100_000 > 100 * 50 > len(pickle.dumps(rest))
    bound = load(tools.encoded(run).definition)
    value, seconds = bound(code, results)
    assert value == sum(range(50))
    assert len(seconds) == len(code)


def test_a_large_array_becomes_a_block_once() -> None:
    table = np.arange(50_000)
    graph = {"a": (np.sum, table), "b": (np.max, table), "c": (operator.add, "a", "b")}
    blocks: list[Any] = []

    def put(value: Any) -> str:
        blocks.append(value)
        return "the block"

    code, _ = written(graph, "c", Tools({}), put)
    assert len(blocks) == 1
    assert len(pickle.dumps(code)) < 500


def test_values_are_dropped_after_their_last_use() -> None:
    graph = {"a": (abs, -1), "b": (operator.add, "a", 1), "c": (operator.mul, "b", "b")}
    code, results = written(graph, "c", Tools({}))
    assert [step[4] for step in code] == [(), (0,), (1,)]
    assert results == (2,)


def tools_of(*values: Any) -> Tools:
    tools = Tools({})
    for value in values:
        tools.number(value) if callable(value) else tools.constant(value)
    return tools


def test_equal_tools_have_equal_names() -> None:
    offset = 3
    names = {
        tools_of(lambda x: x + offset, [1, 2]).encoded(run).name,
        tools_of(lambda x: x + offset, [1, 2]).encoded(run).name,
    }
    assert len(names) == 1
    offset = 4
    names.add(tools_of(lambda x: x + offset, [1, 2]).encoded(run).name)
    names.add(tools_of(lambda x: x + offset, [1, 3]).encoded(run).name)
    assert len(names) == 3


def test_a_tool_that_cannot_be_pickled_is_named() -> None:
    import threading

    with pytest.raises(NotSerializableError, match="lock"):
        tools_of(threading.Lock()).encoded(run)
