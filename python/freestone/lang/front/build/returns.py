"""Where functions return: in any way of an if, and what comes after it is part of the other way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from freestone.lang.front.parse import tree
from freestone.lang.front.parse.source import Location
from freestone.lang.front.parse.tree import Statement

__all__ = ["arranged", "results_of"]

MAX_WAYS = 200
"""How many ways may lead through a function: what comes after an if is built for each."""

Refuse = Callable[[str, Location], NoReturn]


def arranged(node: tree.Define, refuse: Refuse) -> tree.Block:
    """Return the body of a function so that each of its ifs returns on all ways or on none.

    What comes after an if that returns on some ways becomes the end of its other ways.

    Parameters
    ----------
    node : Define
        The function.
    refuse : callable
        Raises an error with its text and its place.
    """
    statements = node.body.statements
    if _returns(node.body, refuse) == "some":
        place = node.body.place
        found = list(_values(node.body))
        if any(found):
            problem = f"a way through {node.name} ends without a return; add one at the end"
            refuse(problem, _open_end(node.body))
        statements = [*statements, tree.Return(place, [])]
    return tree.Block(node.body.place, _Arranging(refuse).block(statements, []))


def results_of(body: tree.Block) -> int:
    """Return how many values the first return of a function has; 0 without one."""
    return next(iter(_values(body)), 0)


def _returns(node: Statement | None, refuse: Refuse) -> str:
    """Tell whether ``"all"``, ``"some"`` or ``"no"`` ways of a statement return."""
    if isinstance(node, tree.Return):
        return "all"
    if isinstance(node, tree.Block):
        return _block(node, refuse)
    if isinstance(node, tree.If):
        ways = {_returns(way, refuse) for way in (node.then, node.otherwise)}
        return ways.pop() if len(ways) == 1 else "some"
    if isinstance(node, tree.While | tree.For) and _returns(node.body, refuse) != "no":
        refuse("a loop can't return; keep the value in a variable", node.body.place)
    return "no"


def _block(node: tree.Block, refuse: Refuse) -> str:
    found = "no"
    for statement in node.statements:
        if found == "all":
            problem = "this is never reached: the function has returned before"
            refuse(problem, statement.place)
        way = _returns(statement, refuse)
        found = found if way == "no" else way
    return found


def _values(node: Any) -> Iterable[int]:
    """Yield how many values each return has."""
    if isinstance(node, tree.Return):
        yield len(node.values)
    elif isinstance(node, tree.Block):
        for statement in node.statements:
            yield from _values(statement)
    elif isinstance(node, tree.If):
        yield from _values(node.then)
        yield from _values(node.otherwise)


def _open_end(node: Statement) -> Location:
    """Return the place of the last statement that does not return, or of the if that it is in."""
    if isinstance(node, tree.Block) and node.statements:
        return _open_end(node.statements[-1])
    return node.place


class _Arranging:
    """Puts what comes after an if into those of its ways that do not return."""

    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse
        self._ways: dict[int, int] = {}

    def block(self, statements: list[Statement], rest: list[Statement]) -> list[Statement]:
        """Return statements and what comes after them, which returns."""
        for at, statement in enumerate(statements):
            way = _returns(statement, self._refuse)
            if way == "all":
                return [*statements[:at], self._continued(statement, [])]
            if way == "some":
                after = self.block(statements[at + 1 :], rest)
                return [*statements[:at], self._continued(statement, after)]
        return [*statements, *rest]

    def _continued(self, node: Statement | None, rest: list[Statement]) -> Statement:
        way = "no" if node is None else _returns(node, self._refuse)
        if isinstance(node, tree.Return):
            return node
        if isinstance(node, tree.Block) and way != "no":
            return tree.Block(node.place, self.block(node.statements, rest))
        if isinstance(node, tree.If) and way != "no":
            return self._both(node, rest)
        place = rest[0].place if node is None else node.place
        return tree.Block(place, [*([] if node is None else [node]), *rest])

    def _both(self, node: tree.If, rest: list[Statement]) -> tree.If:
        """Continue both ways of an if; what comes after it is then there more than once."""
        ways = [self._continued(each, rest) for each in (node.then, node.otherwise)]
        made = tree.If(node.place, node.condition, ways[0], ways[1])
        self._ways[id(made)] = sum(map(self._count, ways))
        if self._ways[id(made)] > MAX_WAYS:
            problem = f"more than {MAX_WAYS} ways lead through this function; make several of it"
            self._refuse(problem, node.place)
        return made

    def _count(self, node: Statement) -> int:
        while isinstance(node, tree.Block) and node.statements:
            node = node.statements[-1]
        return self._ways.get(id(node), 1)
