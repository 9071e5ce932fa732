"""From a syntax tree to the typed graph: statements, functions, imports."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from freestone.errors.base import did_you_mean
from freestone.errors.lang import ScriptSyntaxError
from freestone.lang.front.build.functions import Defined, Functions
from freestone.lang.front.build.overloads import clash
from freestone.lang.front.build.returns import arranged
from freestone.lang.front.build.scope import Scope
from freestone.lang.front.build.search import Search
from freestone.lang.front.builtins import elementwise
from freestone.lang.front.builtins.reorganisation import inserted
from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.front.parse import tree
from freestone.lang.front.parse.lexer import tokens
from freestone.lang.front.parse.parser import parse
from freestone.lang.front.parse.source import Location, Source, failure, read_source
from freestone.lang.front.parse.tree import Statement
from freestone.lang.front.types.scalars import Scalar
from freestone.lang.front.types.types import Type, scalar

MAX_ROUNDS = 4
"""How often a loop is built anew until the types of its variables are stable."""


class Builder(Functions):
    """Builds a program.

    Parameters
    ----------
    arguments : dict
        The script's arguments: values and their types.
    search : Search
        Where imported scripts are.
    """

    def __init__(self, arguments: dict[str, tuple[Scalar, str]], search: Search) -> None:
        super().__init__(arguments)
        self._search = search
        self._open: list[Path] = []
        self._imports: list[set[Path]] = []
        self._read: dict[str, None] = {}

    def build(self, source: Source, path: Path | None = None) -> Program:
        """Build a script."""
        self._open.append((path or Path(source.file)).resolve())
        self._imports.append(set())
        self._script(source)
        self._open.pop()
        self._imports.pop()
        if not self._open:
            self._check_arguments()
            self.drop_uncalled()
        return self.program

    def _check_arguments(self) -> None:
        """Refuse an argument that a script with arguments does not read: it is misspelt.

        A script that reads none may be given any, as one of many that are called alike.
        """
        for name in self.arguments:
            if self._read and name not in self._read:
                known, hint = ", $".join(self._read), did_you_mean(name, self._read)
                problem = f"the script reads no argument ${name}, only ${known}{hint}"
                raise failure(ScriptSyntaxError, problem)

    def _script(self, source: Source) -> None:
        begin = time.perf_counter()
        statements = parse(source)
        self._read |= dict.fromkeys(_arguments_in(source))
        self.program.parse_seconds += time.perf_counter() - begin
        defines = [each for each in statements if isinstance(each, tree.Define)]
        made = [self._define(define) for define in defines]
        for statement in statements:
            if not isinstance(statement, tree.Define):
                self.statement(statement)
        for defined in made:
            self.check_uncalled(defined)

    # -- statements ----------------------------------------------------------------------

    def _define(self, node: tree.Define) -> Defined:
        self.place = node.place
        problem = clash(node, [other.node for other in self.functions.get(node.name, ())])
        if problem is not None:
            self.refuse(problem)
        names = [parameter.name for parameter in node.parameters]
        for index, name in enumerate(names):
            if name in names[:index]:
                self.refuse(f"{node.name} has two parameters {name!r}")
        body = arranged(node, self._refuse_at)
        defined = Defined(replace(node, body=body), self.functions)
        self.functions.setdefault(node.name, []).append(defined)
        return defined

    def _refuse_at(self, problem: str, place: Location) -> NoReturn:
        self.place = place
        self.refuse(problem)

    def statement(self, node: Statement) -> list[Value] | None:
        """Build a statement.

        Returns
        -------
        list of Value, or None
            What it returns from the function; None if it does not.
        """
        self.place = node.place
        build: dict[type, Callable[[Any], list[Value] | None]] = {
            tree.Evaluate: self._evaluate,
            tree.Assign: self._assign,
            tree.Block: self.block_statement,
            tree.If: self._if,
            tree.While: self._while,
            tree.For: self._for,
            tree.Return: self._return,
            tree.Import: self._import,
        }
        return build[type(node)](node)

    def _evaluate(self, node: tree.Evaluate) -> None:
        self.values(node.value)

    def _assign(self, node: tree.Assign) -> None:
        values = self.values(node.value)
        self.place = node.place
        if any(value.type.data == "nothing" for value in values):
            self.refuse("this call has no result that could be assigned")
        if len(values) != len(node.targets):
            self.refuse(f"{len(values)} results can't be assigned to {len(node.targets)} variables")
        for target, value in zip(node.targets, values, strict=True):
            self._write(target, value)

    def _write(self, target: tree.Target, value: Value) -> None:
        self.place = target.place
        if "." in target.name:
            self.refuse(f"{target.name} belongs to an imported script and can only be read")
        if self.scope.locked(target.name):
            self.refuse(f"{target.name!r} is the variable of a loop and can only be read")
        if target.index is not None:
            value = self._inserted(target, target.index, value)
        self.scope.set(target.name, value)

    def _inserted(self, target: tree.Target, index: tree.Index, value: Value) -> Value:
        whole = self.value(index.operand)
        type = self.matrix(whole, target.name)
        kinds, sides, counts = self.sides(index, type)
        self.place = target.place
        return inserted(self, target.name, whole, value, kinds, sides, counts)

    def block_statement(self, node: tree.Block) -> list[Value] | None:
        """Build a block, and return what it returns from the function."""
        self.scope = Scope(self.scope)
        result = None
        for statement in node.statements:
            result = self.statement(statement)
        assert self.scope.around is not None
        self.scope = self.scope.around
        return result

    def _scoped(self, node: Statement) -> list[Value] | None:
        """Build a branch or the body of a loop, whose new variables vanish, also without braces."""
        return self.block_statement(tree.Block(node.place, [node]))

    def _return(self, node: tree.Return) -> list[Value]:
        if not self.in_function:
            self.refuse("only a function can return")
        return [self.value(value) for value in node.values]

    # -- branches ------------------------------------------------------------------------

    def _if(self, node: tree.If) -> list[Value] | None:
        condition = self._condition(node.condition)
        if condition.const is not None:
            ways = (node.then, node.otherwise)
            chosen, other = ways if condition.const else ways[::-1]
            self._pass_over(other)
            return None if chosen is None else self._scoped(chosen)
        names = self._written(node.then, node.otherwise)
        before = {name: self.scope.get(name) for name in names}
        blocks, ends, results = [], [], []
        for branch in (node.then, node.otherwise):
            block, result = self._region(branch)
            blocks.append(block)
            results.append(result)
            ends.append({name: self.scope.get(name) for name in names})
            self._restore(before)
        self.place = node.place
        if results[0] is not None and results[1] is not None:
            return self._merge(condition, blocks, results[0], results[1], "a result")
        changed = [name for name in names if ends[0][name] is not ends[1][name]]
        outs = [[end[name] for name in changed] for end in ends]
        merged = self._merge(condition, blocks, outs[0], outs[1], *changed)  # type: ignore[arg-type]
        for name, value in zip(changed, merged, strict=True):
            self.scope.set(name, value)
        return None

    def _pass_over(self, node: Statement | None) -> None:
        """Check the names in what never runs."""
        if node is not None:
            before = {name: self.scope.get(name) for name in self._written(node)}
            self.check_names(lambda: self.statement(node))
            self._restore(before)

    def _condition(self, node: tree.Expression) -> Value:
        condition = self.value(node)
        self.place = node.place
        if condition.type.data == "matrix":
            condition = elementwise.cast(self, condition, "scalar", None)
        self.number(condition, "the condition")
        return condition

    def _region(self, node: Statement | None) -> tuple[Block, list[Value] | None]:
        outer, self.block = self.block, Block()
        result = None if node is None else self._scoped(node)
        inner, self.block = self.block, outer
        return inner, result

    def _merge(
        self,
        condition: Value,
        blocks: list[Block],
        then: list[Value],
        otherwise: list[Value],
        *names: str,
    ) -> list[Value]:
        if len(then) != len(otherwise):
            self.fail(f"one way returns {len(then)} values and the other {len(otherwise)}")
        types = [
            self.unified(one.type, other.type, names[min(at, len(names) - 1)])
            for at, (one, other) in enumerate(zip(then, otherwise, strict=True))
        ]
        blocks[0].outs, blocks[1].outs = then, otherwise
        op = Op("if", [condition], [], {}, self.place, blocks)
        op.results = [Value(type, op) for type in types]
        self.block.ops.append(op)
        return op.results

    def branch(self, condition: Value, node: tree.Choice) -> Value:
        """Build ``?:`` with a condition that is known only when the script runs."""
        blocks, ends = [], []
        for part in (node.then, node.otherwise):
            outer, self.block = self.block, Block()
            ends.append([self.value(part)])
            blocks.append(self.block)
            self.block = outer
        self.place = node.place
        return self._merge(condition, blocks, ends[0], ends[1], "the value of ?:")[0]

    def _written(self, *nodes: Statement | None) -> list[str]:
        found: dict[str, None] = {}
        for node in nodes:
            for name in _assigned(node):
                if self.scope.get(name) is not None:
                    found[name] = None
        return list(found)

    def _restore(self, before: dict[str, Value | None]) -> None:
        for name, value in before.items():
            if value is not None:
                self.scope.set(name, value)

    # -- loops ---------------------------------------------------------------------------

    def _while(self, node: tree.While) -> None:
        def body(block: Block) -> None:
            self.block = block
            self._scoped(node.body)

        def test(block: Block) -> None:
            self.block = block
            block.outs = [self._condition(node.condition)]

        kind = "while" if node.test_first else "do"
        self._loop(node, kind, [], node.body, body, test)

    def _for(self, node: tree.For) -> None:
        ends = [self.value(node.begin), self.value(node.end)]
        if node.step is not None:
            ends.append(self.value(node.step))
        self.place = node.place
        for end in ends:
            self.number(end, "an end or the step of a loop")
            if end.const is not None and not math.isfinite(float(end.const)):
                self.fail("the ends and the step of a loop have to be numbers")
        ends = [self.cast(end, "si64") for end in ends]
        if node.step is not None and ends[2].const == 0:
            self.fail("the step of a loop can't be 0")

        def body(block: Block) -> None:
            self.block = block
            counter = Value(scalar("si64"))
            block.args.insert(0, counter)
            self.scope = Scope(self.scope, {node.name: counter}, frozenset({node.name}))
            self.statement(node.body)
            assert self.scope.around is not None
            self.scope = self.scope.around

        self._loop(node, "for", ends, node.body, body, None)

    def _loop(
        self,
        node: tree.While | tree.For,
        kind: str,
        operands: list[Value],
        body: Statement,
        build: Callable[[Block], None],
        test: Callable[[Block], None] | None,
    ) -> None:
        names = self._written(body)
        before = {name: self.scope.get(name) for name in names}
        inits = [value for value in before.values() if value is not None]
        types = [value.type for value in inits]
        outer = self.block
        for _ in range(MAX_ROUNDS):
            changes = self.files.changes
            regions, found = self._round(names, types, kind, build, test)
            self.block: Block = outer
            self._restore(before)
            self.place = node.place
            wider = [
                self.unified(one, other, f"the variable {name!r}")
                for name, one, other in zip(names, types, found, strict=True)
            ]
            # A file that this round is the first to write is read by the next one.
            if wider == types and self.files.changes == changes:
                break
            types = wider
        op = Op(
            "for" if kind == "for" else "while", [*operands, *inits], [], {}, node.place, regions
        )
        op.attrs = {"test_first": kind == "while"} if kind != "for" else {"ends": len(operands)}
        op.results = [Value(type, op) for type in types]
        outer.ops.append(op)
        for name, value in zip(names, op.results, strict=True):
            self.scope.set(name, value)

    def _round(
        self,
        names: list[str],
        types: list[Type],
        kind: str,
        build: Callable[[Block], None],
        test: Callable[[Block], None] | None,
    ) -> tuple[list[Block], list[Type]]:
        block = Block([Value(type) for type in types])
        carried = list(block.args)
        for name, value in zip(names, carried, strict=True):
            self.scope.set(name, value)
        regions = [block]
        if kind == "while" and test is not None:
            first = Block([Value(type) for type in types])
            for name, value in zip(names, first.args, strict=True):
                self.scope.set(name, value)
            test(first)
            regions.append(first)
            for name, value in zip(names, carried, strict=True):
                self.scope.set(name, value)
        build(block)
        ends = [self._current(name) for name in names]
        block.outs = ends
        if kind == "do" and test is not None:
            last = Block([Value(value.type) for value in ends])
            for name, value in zip(names, last.args, strict=True):
                self.scope.set(name, value)
            test(last)
            regions.append(last)
        return regions, [value.type for value in ends]

    def _current(self, name: str) -> Value:
        value = self.scope.get(name)
        assert value is not None
        return value

    # -- imports -------------------------------------------------------------------------

    def _import(self, node: tree.Import) -> None:
        if self.in_function or self.scope.around is not None:
            self.refuse("scripts are imported at the top level only")
        for path, alias in self._search.resolve(self, node, self._open[-1].parent):
            if path in self._open:
                self.refuse(f"{path.name} imports itself")
            if path in self._imports[-1]:
                self.refuse(f"{path.name} is imported twice")
            self._imports[-1].add(path)
            prefix = self._free(alias, path)
            if node.alias is not None and prefix != alias:
                self.refuse(f"the alias {alias!r} is there twice")
            variables, functions = self._imported(path)
            for name, value in variables.items():
                self.scope.variables[f"{prefix}.{name}"] = value
            for name, ways in functions.items():
                self.functions[f"{prefix}.{name}"] = ways

    def _free(self, alias: str, path: Path) -> str:
        taken = {name.rpartition(".")[0] for name in (*self.scope.names(), *self.functions)}
        return f"{path.parent.name}.{alias}" if alias in taken else alias

    def _imported(self, path: Path) -> tuple[dict[str, Value], dict[str, list[Defined]]]:
        kept = self.scope, self.functions, self.place
        self.scope, self.functions = Scope(), {}
        self.build(read_source(path), path)
        variables = {n: v for n, v in self.scope.variables.items() if "." not in n}
        functions = {n: f for n, f in self.functions.items() if "." not in n}
        self.scope, self.functions, self.place = kept
        return variables, functions


def _arguments_in(source: Source) -> Iterable[str]:
    """Yield the names of the arguments that a script reads anywhere, in any of its lines."""
    for token, following in pairwise(tokens(source)):
        if token.text == "$" and token.kind == "sign":
            yield following.text


def _assigned(node: Any) -> Iterable[str]:
    if isinstance(node, tree.Assign):
        yield from (target.name for target in node.targets)
    elif isinstance(node, tree.Block):
        for statement in node.statements:
            yield from _assigned(statement)
    elif isinstance(node, tree.If):
        yield from _assigned(node.then)
        yield from _assigned(node.otherwise)
    elif isinstance(node, tree.While | tree.For):
        yield from _assigned(node.body)
