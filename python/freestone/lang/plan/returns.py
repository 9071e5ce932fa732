"""Where functions return: on all ways of an if or on none, never in a loop, nothing comes after."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from freestone.lang.parse import tree
from freestone.lang.parse.source import Place
from freestone.lang.parse.tree import Statement

__all__ = ["check"]

Refuse = Callable[[str, Place], NoReturn]


def check(node: tree.Define, refuse: Refuse) -> None:
    """Check a function as it is written, whatever it will be called with.

    Parameters
    ----------
    node : Define
        The function.
    refuse : callable
        Raises an error with its text and its place.
    """
    _returns(node.body, refuse)


def _returns(node: Statement | None, refuse: Refuse) -> bool:
    """Tell whether a statement returns from its function."""
    if isinstance(node, tree.Block):
        return _block(node, refuse)
    if isinstance(node, tree.If):
        ways = [_returns(way, refuse) for way in (node.then, node.otherwise)]
        if ways[0] != ways[1]:
            problem = "an if returns on all of its ways or on none: add an else that returns"
            refuse(problem, node.place)
        return ways[0]
    if isinstance(node, tree.While | tree.For):
        if _returns(node.body, refuse):
            refuse("a loop can't return; keep the value in a variable", node.body.place)
        return False
    return isinstance(node, tree.Return)


def _block(node: tree.Block, refuse: Refuse) -> bool:
    returned = False
    for statement in node.statements:
        if returned:
            problem = "this is never reached: the function has returned before"
            refuse(problem, statement.place)
        returned = _returns(statement, refuse)
    return returned
