"""Shows a program as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.front.types.scalars import printed
from freestone.lang.settings import Settings
from freestone.units import format_nbytes

REGIONS = {
    "if": ("then", "else"),
    "while": ("do", "test"),
    "for": ("do",),
    "pipeline": ("fused",),
    "strips": ("each",),
}


def explain(stage: str, program: Program, settings: Settings) -> None:
    """Write the graph after a stage to standard error, if the settings ask for it."""
    if stage in settings.explain:
        print(f"-- {stage}", *lines(program), sep="\n", file=sys.stderr)


def lines(program: Program) -> Iterator[str]:
    """Yield a program, a line for each operation.

    Values are numbered in the order in which they are made; constants are written out.
    """
    names: dict[Value, str] = {}
    for function in program.functions:
        yield f"def {function.name}({_named(function.block.args, names)})"
        yield from _block(function.block, names, "  ")
    if program.main.args:
        yield f"given {_named(program.main.args, names)}"
    yield from _block(program.main, names, "")
    if program.peak is not None:
        nbytes, op = program.peak
        where = "" if op is None else f", at {op.name} {op.place or ''}".rstrip()
        yield f"at most {format_nbytes(nbytes)} of memory{where}"


def _block(block: Block, names: dict[Value, str], indent: str) -> Iterator[str]:
    for op in block.ops:
        yield indent + _line(op, names) + (f"   ({op.where})" if op.where else "")
        for word, region in zip(REGIONS.get(op.kind, ()), op.regions, strict=False):
            inside = f"({_named(region.args, names)})" if region.args else ""
            yield f"{indent}  {word}{inside}"
            yield from _block(region, names, indent + "    ")
    if block.outs:
        yield f"{indent}-> {_read(block.outs, names)}"


def _line(op: Op, names: dict[Value, str]) -> str:
    fused = {value for region in op.regions for inner in region.ops for value in inner.results}
    text = f"{op.name} {_read(op.operands, names)}".rstrip()
    if op.kind == "call":
        text = f"call {op.attrs['function'].name} {_read(op.operands, names)}".rstrip()
    if "over" in op.attrs:
        text += f" over {names[op.operands[op.attrs['over']]]}"
    made = [value for value in op.results if value.type.data != "nothing"]
    if op.kind == "pipeline":
        made = [value for value in made if value in fused]
    if not made:
        return text
    return f"{_named(made, names)} = {text}"


def _named(values: list[Value], names: dict[Value, str]) -> str:
    for value in values:
        names.setdefault(value, f"%{len(names)}")
    return ", ".join(f"{names[value]}: {value.type}" for value in values)


def _read(values: list[Value], names: dict[Value, str]) -> str:
    return " ".join(
        _constant(value) if value.const is not None else names[value] for value in values
    )


def _constant(value: Value) -> str:
    return f'"{value.const}"' if isinstance(value.const, str) else printed(value.const)
