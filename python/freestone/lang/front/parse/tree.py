"""The syntax tree: what the parser makes, and the builder reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from freestone.lang.front.parse.source import Location


@dataclass
class Node:
    """A part of a script."""

    place: Location


@dataclass
class Literal(Node):
    """A number, a truth value or a string."""

    value: int | float | str | bool
    value_type: str


@dataclass
class Argument(Node):
    """``$name``."""

    name: str


@dataclass
class Name(Node):
    """A variable, perhaps of an import: ``a.x``."""

    name: str


@dataclass
class MatrixLiteral(Node):
    """``[1, 2, 3, 4](2, 2)``; a side that is not given is None."""

    items: list[Expression]
    rows: Expression | None = None
    columns: Expression | None = None


@dataclass
class FrameColumns(Node):
    """``{"a": [1, 2], "b": [3, 4]}``."""

    labels: list[Expression]
    columns: list[Expression]


@dataclass
class FrameRows(Node):
    """``{["a", "b"], [1, 3], [2, 4]}``."""

    labels: list[Expression]
    rows: list[list[Expression]]


@dataclass
class Unary(Node):
    """``-x`` or ``+x``."""

    sign: str
    operand: Expression


@dataclass
class Binary(Node):
    """``x + y``."""

    sign: str
    left: Expression
    right: Expression
    kernel: str | None = None


@dataclass
class Choice(Node):
    """``c ? x : y``."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass
class Cast(Node):
    """``as.matrix<f64>(x)``; what is not said is None."""

    data_type: str | None
    value_type: str | None
    operand: Expression


@dataclass
class Call(Node):
    """``f(x, y, z=1)``."""

    name: str
    arguments: list[Expression]
    keywords: dict[str, Expression] = field(default_factory=dict)
    kernel: str | None = None


@dataclass
class Range(Node):
    """``a:b`` inside an index; an end that is not given is None."""

    begin: Expression | None
    end: Expression | None


@dataclass
class Index(Node):
    """``x[rows, columns]``; a side that is empty is None."""

    operand: Expression
    rows: Expression | Range | None
    columns: Expression | Range | None


@dataclass
class Filter(Node):
    """``x[[row bits, column bits]]``."""

    operand: Expression
    rows: Expression | None
    columns: Expression | None


Expression = (
    Literal
    | Argument
    | Name
    | MatrixLiteral
    | FrameColumns
    | FrameRows
    | Unary
    | Binary
    | Choice
    | Cast
    | Call
    | Index
    | Filter
)


@dataclass
class Evaluate(Node):
    """An expression for what it does."""

    value: Expression


@dataclass
class Target(Node):
    """``x`` or ``x[rows, columns]`` on the left of a ``=``."""

    name: str
    index: Index | None = None


@dataclass
class Assign(Node):
    """``a, b[0, :] = f();``."""

    targets: list[Target]
    value: Expression


@dataclass
class Block(Node):
    """``{ ... }``."""

    statements: list[Statement]


@dataclass
class If(Node):
    """``if (c) ... else ...``."""

    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass
class While(Node):
    """``while (c) ...``, or ``do ... while (c)``."""

    condition: Expression
    body: Statement
    test_first: bool


@dataclass
class For(Node):
    """``for (i in a:b:s) ...``."""

    name: str
    begin: Expression
    end: Expression
    step: Expression | None
    body: Statement


@dataclass
class Return(Node):
    """``return a, b;``."""

    values: list[Expression]


@dataclass
class Import(Node):
    """``import "a.daphne" as "b";``."""

    path: str
    alias: str | None


@dataclass
class TypeWord(Node):
    """``matrix<f64>``, ``matrix`` or ``f64``; what is not said is None."""

    data_type: str
    value_type: str | None


@dataclass
class Parameter(Node):
    """Of a function."""

    name: str
    type: TypeWord | None


@dataclass
class Define(Node):
    """``def f(x, y: f64) -> f64 { ... }``."""

    name: str
    parameters: list[Parameter]
    results: list[TypeWord] | None
    body: Block


Statement = Evaluate | Assign | Block | If | While | For | Return | Import | Define
