"""Functions that a script defines: each is built for the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from freestone.errors.lang import ScriptCompileError
from freestone.lang.front.build.expressions import Expressions
from freestone.lang.front.build.overloads import misfit, signature
from freestone.lang.front.build.returns import results_of
from freestone.lang.front.build.scope import Scope
from freestone.lang.front.graph.graph import Block, Function, Program, Value, nested
from freestone.lang.front.parse import tree
from freestone.lang.front.types.scalars import Scalar
from freestone.lang.front.types.types import NOTHING, Type, matrix, scalar

MAX_GUESSES = 4
"""How often a function that calls itself is built until the types of its results are stable."""


@dataclass(eq=False)
class Defined:
    """A function as a script defines it, and what it has been built for."""

    node: tree.Define
    functions: dict[str, list[Defined]]
    built: dict[Any, Function] = field(default_factory=dict)

    @cached_property
    def recursive(self) -> bool:
        """Whether it calls itself, perhaps by way of others."""
        seen: set[str] = set()
        left = _called(self.node.body)
        while left:
            name = left.pop()
            if name in self.functions and name not in seen:
                seen.add(name)
                left |= set().union(*(_called(each.node.body) for each in self.functions[name]))
        return self.node.name in seen


class Functions(Expressions):
    """Builds functions and their calls."""

    def __init__(self, arguments: dict[str, tuple[Scalar, str]]) -> None:
        super().__init__(arguments)
        self.functions: dict[str, list[Defined]] = {}
        self.program: Program = Program(self.block)
        self.in_function = False

    def knows(self, name: str) -> bool:
        """Tell whether the script defines a function."""
        return name in self.functions

    def function_names(self) -> list[str]:
        """Return the names of the functions that the script defines."""
        return list(self.functions)

    def block_statement(self, node: tree.Block) -> list[Value] | None:
        """Build a block, and return what it returns from the function."""
        raise NotImplementedError

    def call_function(
        self, node: tree.Call, arguments: list[Value], keywords: dict[str, Value]
    ) -> list[Value]:
        """Build a call of a function that the script defines."""
        defined, values = self._chosen(node.name, arguments, keywords)
        function = self._specialised(defined, values)
        self.place = node.place
        types = function.results or []
        if not types:
            return self.emit_all("call", values, [NOTHING], function=function)
        return self.emit_all("call", values, types, function=function)

    def _chosen(
        self, name: str, arguments: list[Value], keywords: dict[str, Value]
    ) -> tuple[Defined, list[Value]]:
        """Return the function of a name whose parameters fit best, and its arguments."""
        ways = self.functions[name]
        count = len(arguments) + len(keywords)
        fitting = [each for each in ways if len(each.node.parameters) == count]
        ranked = []
        for each in fitting or ways[:1]:
            values = self._bound(each.node, arguments, keywords)
            ranks = [
                misfit(value.type, parameter.type)
                for value, parameter in zip(values, each.node.parameters, strict=True)
            ]
            if len(ways) == 1 or None not in ranks:
                ranked.append((sum(rank or 0 for rank in ranks), each, values))
        if not ranked:
            given = ", ".join(str(value.type) for value in [*arguments, *keywords.values()])
            known = "; ".join(signature(each.node) for each in ways)
            self.refuse(f"no {name} takes ({given}); there are {known}")
        _, defined, values = min(ranked, key=lambda item: item[0])
        return defined, [
            self.fitted(value, parameter.type, f"argument {parameter.name!r}", self.refuse)
            for value, parameter in zip(values, defined.node.parameters, strict=True)
        ]

    def _bound(
        self, node: tree.Define, arguments: list[Value], keywords: dict[str, Value]
    ) -> list[Value]:
        """Return an argument for each parameter."""
        names = [parameter.name for parameter in node.parameters]
        if len(arguments) > len(names):
            self.refuse(f"{node.name} takes {len(names)} arguments, not {len(arguments)}")
        bound = dict(zip(names, arguments, strict=False))
        for word, value in keywords.items():
            if word in bound:
                self.refuse(f"argument {word!r} of {node.name} is given twice")
            if word not in names:
                self.refuse(f"{node.name} has no parameter {word!r}; it has {', '.join(names)}")
            bound[word] = value
        missing = [name for name in names if name not in bound]
        if missing:
            self.refuse(f"{node.name} needs {', '.join(missing)}")
        return [bound[name] for name in names]

    def fitted(
        self,
        value: Value,
        word: tree.TypeWord | None,
        what: str,
        refuse: Callable[[str], NoReturn],
    ) -> Value:
        """Check a value against a declared type; the cells of numbers are cast."""
        if word is None:
            return value
        if value.type.data != word.data_type:
            wanted = word.value_type if word.data_type == "scalar" else word.data_type
            refuse(f"{what} has to be a {wanted}, not a {value.type}")
        if word.value_type is None or value.type.cell == word.value_type:
            return value
        if "str" in (word.value_type, value.type.cell):
            refuse(f"{what} has to be of {word.value_type}, not of {value.type.cell}")
        return self.cast(value, word.value_type)

    def _specialised(self, defined: Defined, values: list[Value]) -> Function:
        consts = (
            ()
            if defined.recursive or not self.propagate
            else tuple((type(v.const), v.const) for v in values)
        )
        types = tuple(value.type for value in values)
        if defined.recursive:
            types = tuple(_shapeless(type) for type in types)
        # What it reads may have been written since it was built.
        key = (types, consts, 0 if defined.recursive else self.files.changes)
        if key not in defined.built:
            self._build_function(defined, key, types, values)
        return defined.built[key]

    def _build_function(
        self, defined: Defined, key: Any, types: Sequence[Type], values: list[Value]
    ) -> None:
        """Build a function; one that calls itself, until the guess of its results is right."""
        assumed = _guessed(defined.node, types) if defined.recursive else None
        count = len(self.program.functions)
        for _ in range(MAX_GUESSES):
            function = Function(defined.node.name, Block([Value(t) for t in types]), assumed)
            defined.built[key] = function
            self.program.functions.append(function)
            if assumed is None and self.propagate:
                for inner, value in zip(function.block.args, values, strict=True):
                    inner.const = value.const
            try:
                self._build_body(defined, function)
            except ScriptCompileError:
                # A function of whole numbers may return others.
                if assumed in (None, [scalar("f64")]) or defined.node.results is not None:
                    raise
                function.block.outs = [Value(scalar("f64"))]
            found = [value.type for value in function.block.outs]
            if assumed is None:
                function.results = found
                return
            if [_shapeless(type) for type in found] == assumed:
                return
            assumed = [_shapeless(type) for type in found]
            # What was built on the wrong guess is built again.
            del self.program.functions[count:]
            for ways in defined.functions.values():
                for other in ways:
                    other.built.clear()
        self.place = defined.node.place
        name = defined.node.name
        self.fail(f"what {name} returns can't be found out: declare it, def {name}(...) -> f64")

    def _build_body(self, defined: Defined, function: Function) -> None:
        node, block = defined.node, function.block
        kept = self.block, self.scope, self.functions, self.in_function, self.place
        self.block, self.scope = block, Scope()
        self.functions, self.in_function = defined.functions, True
        names = (parameter.name for parameter in node.parameters)
        self.scope.variables = dict(zip(names, block.args, strict=True))
        try:
            results = self.block_statement(node.body) or []
            block.outs = self._results(node, results)
        finally:
            self.block, self.scope, self.functions, self.in_function, self.place = kept

    def _results(self, node: tree.Define, results: list[Value]) -> list[Value]:
        self.place = node.place
        if node.results is None:
            return results
        if len(results) != len(node.results):
            self.fail(f"{node.name} returns {len(results)} values, not {len(node.results)}")
        return [
            self.fitted(value, word, f"a result of {node.name}", self.fail)
            for value, word in zip(results, node.results, strict=True)
        ]

    def check_uncalled(self, defined: Defined) -> None:
        """Build a function that nobody calls, if its parameters say their types."""
        words = [parameter.type for parameter in defined.node.parameters]
        if defined.built or any(word is None or word.value_type is None for word in words):
            return
        types = [Type(word.data_type, word.value_type or "") for word in words if word is not None]
        self._specialised(defined, [Value(type) for type in types])

    def drop_uncalled(self) -> None:
        """Forget the functions that were built only to be checked."""
        called: set[Function] = set()
        left = [self.program.main]
        while left:
            ops = (op for block in nested(left.pop()) for op in block.ops)
            found = {op.attrs["function"] for op in ops if "function" in op.attrs} - called
            called |= found
            left += [function.block for function in found]
        self.program.functions[:] = [each for each in self.program.functions if each in called]

    def mapped(self, node: tree.Call) -> Value:
        """Build ``map(x, function)``, or ``map(x, function, axis)`` of rows (0) or columns (1)."""
        self.place = node.place
        # A fourth argument says whether the function returns a scalar, which it says itself.
        count = len(node.arguments)
        if not 2 <= count <= 4 or not isinstance(node.arguments[1], tree.Name):
            self.refuse(
                "map takes a matrix and the name of a function: map(x, f), or map(x, f, axis)"
            )
        arg = self.value(node.arguments[0])
        name = node.arguments[1].name
        axis = None if count == 2 else self._axis(*node.arguments[2:])
        self.place = node.place
        if name not in self.functions:
            self.refuse(f"there is no function {name!r} in this script")
        type = self.matrix(arg, "arg")
        if axis is not None:
            return self._mapped_along(arg, name, axis)
        function = self._taking(name, scalar(type.cell))
        if function.results is None or len(function.results) != 1:
            self.fail(f"{name} has to return one scalar")
        if function.results[0].data != "scalar":
            self.fail(f"{name} has to return a scalar, not a {function.results[0]}")
        result = type.of(function.results[0].cell)
        return self.emit("map", [arg], result, function=function)

    def _mapped_along(self, arg: Value, name: str, axis: int) -> Value:
        """Build what binds the results of a function of each row, or each column."""
        type, line = arg.type, ("row", "column")[axis]
        shape = (1, type.columns) if axis == 0 else (type.rows, 1)
        function = self._taking(name, matrix(type.cell, *shape))
        if function.results is None or len(function.results) != 1:
            self.fail(f"{name} has to return one scalar, or one {line}")
        made = function.results[0]
        if made.data not in ("scalar", "matrix"):
            self.fail(f"{name} has to return a scalar or a {line}, not a {made}")
        sides = (1, 1) if made.data == "scalar" else (made.rows, made.columns)
        if sides[axis] not in (None, 1):
            self.fail(f"{name} has to return one {line} of each {line}, not a {made}")
        rows, columns = (type.rows, sides[1]) if axis == 0 else (sides[0], type.columns)
        result = matrix(made.cell, rows, columns)
        return self.emit("map_along", [arg], result, function=function, axis=axis)

    def _taking(self, name: str, type: Type) -> Function:
        """Return a function of the script, specialised for one argument of a type."""
        given, place = Value(type), self.place
        defined, values = self._chosen(name, [given], {})
        if values[0] is not given:
            self.fail(f"{name} takes another type than the {type.cell} of the matrix")
        function = self._specialised(defined, values)
        self.place = place
        return function

    def _axis(self, axis: tree.Expression, *returns_scalar: tree.Expression) -> int:
        for node in returns_scalar:
            self.number(self.value(node), "whether the function of map returns a scalar")
        found = self.known(self.value(axis), "the axis of map")
        if found not in (0, 1):
            self.fail(f"the axis of map is 0, for rows, or 1, for columns, not {found}")
        return int(found)


def _guessed(node: tree.Define, types: Sequence[Type]) -> list[Type]:
    """Guess what a function returns: what it declares, or else what its first argument is."""
    first = _shapeless(types[0]) if types else Type("scalar", "f64")
    if node.results is None:
        return [first] * results_of(node.body)
    return [Type(word.data_type, word.value_type or first.cell) for word in node.results]


def _shapeless(type: Type) -> Type:
    return Type(type.data, type.cell, schema=type.schema, csr=type.csr, coo=type.coo)


def _called(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(_called, node))
    if isinstance(node, dict):
        return _called(list(node.values()))
    if not isinstance(node, tree.Node):
        return set()
    found = {node.name} if isinstance(node, tree.Call) else set()
    for name in _slots(node):
        found |= _called(getattr(node, name))
    return found


def _slots(node: tree.Node) -> Iterable[str]:
    return (name for name in node.__dataclass_fields__ if name != "place")
