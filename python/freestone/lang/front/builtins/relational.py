"""Joins, groups, labels and SQL on frames."""

from __future__ import annotations

from freestone.lang.front.builtins.generation import unique_labels
from freestone.lang.front.builtins.reorganisation import position
from freestone.lang.front.builtins.table import BUILTINS, Builtin, builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import NOTHING, Type, matrix

Schema = tuple[tuple[str, str], ...]


def _schema(emitter: Emitter, frame: Value, what: str) -> Schema:
    type = emitter.frame(frame, what)
    if type.schema is None:
        emitter.fail(f"the columns of {what} are not known before the script runs")
    return type.schema


def _frame(schema: Schema, rows: int | None = None) -> Type:
    return Type("frame", "", rows, len(schema), schema)


def _column(emitter: Emitter, frame: Value, label: Value, what: str) -> int:
    emitter.text(label, what)
    return position(emitter, frame.type, str(emitter.known(label, what)))


def _on(
    emitter: Emitter, left: Value, right: Value, left_on: Value, right_on: Value
) -> tuple[int, int]:
    for frame, what in ((left, "l"), (right, "r")):
        _schema(emitter, frame, what)
    return _column(emitter, left, left_on, "lOn"), _column(emitter, right, right_on, "rOn")


@builtin("cartesian", "l r")
def cartesian(emitter: Emitter, left: Value, right: Value) -> Value:
    """Pair every row with every row."""
    schema = _schema(emitter, left, "l") + _schema(emitter, right, "r")
    unique_labels(emitter, [label for label, _ in schema])
    return emitter.emit("cartesian", [left, right], _frame(schema))


@builtin("innerJoin", "l r lOn rOn numRowRes?")
def inner_join(
    emitter: Emitter,
    left: Value,
    right: Value,
    left_on: Value,
    right_on: Value,
    most: Value | None = None,
) -> Value:
    """Pair the rows that are equal in one column each."""
    on = _on(emitter, left, right, left_on, right_on)
    if most is not None:
        emitter.number(most, "numRowRes")
    schema = _schema(emitter, left, "l") + _schema(emitter, right, "r")
    unique_labels(emitter, [label for label, _ in schema])
    return emitter.emit("inner_join", [left, right], _frame(schema), on=on)


@builtin("semiJoin", "l r lOn rOn numRowRes?")
def semi_join(
    emitter: Emitter,
    left: Value,
    right: Value,
    left_on: Value,
    right_on: Value,
    most: Value | None = None,
) -> list[Value]:
    """Keep the keys of the left rows that have a partner, and tell their positions."""
    on = _on(emitter, left, right, left_on, right_on)
    if most is not None:
        emitter.number(most, "numRowRes")
    key = _schema(emitter, left, "l")[on[0]]
    types = [_frame((key,)), matrix("si64", None, 1)]
    return emitter.emit_all("semi_join", [left, right], types, on=on)


@builtin("groupJoin", "l r lOn rOn rAgg")
def group_join(
    emitter: Emitter, left: Value, right: Value, left_on: Value, right_on: Value, agg: Value
) -> list[Value]:
    """Sum a column of the right per partner on the left, and tell the partners' positions."""
    on = _on(emitter, left, right, left_on, right_on)
    summed = _column(emitter, right, agg, "rAgg")
    schema = (
        _schema(emitter, left, "l")[on[0]],
        _schema(emitter, right, "r")[summed],
    )
    types = [_frame(schema), matrix("si64", None, 1)]
    return emitter.emit_all("group_join", [left, right], types, on=on, summed=summed)


@builtin("groupSum", "f columns*")
def group_sum(emitter: Emitter, frame: Value, *columns: Value) -> Value:
    """Sum the last column per group of the others."""
    schema = _schema(emitter, frame, "f")
    if len(columns) < 2:
        emitter.fail("groupSum takes a frame, columns to group by, and the column to sum")
    places = [_column(emitter, frame, label, "a column of groupSum") for label in columns]
    kept = [schema[place] for place in places[:-1]]
    label, cell = schema[places[-1]]
    result = _frame((*kept, (f"SUM({label})", cell)))
    return emitter.emit("group_sum", [frame], result, places=places)


@builtin("setColLabels", "f label*")
def set_labels(emitter: Emitter, frame: Value, *labels: Value) -> Value:
    """Give the columns other labels."""
    schema = _schema(emitter, frame, "f")
    emitter.equal(len(labels), len(schema), "setColLabels needs a label for every column")
    names = [str(emitter.known(label, "a label")) for label in labels]
    cells = (cell for _, cell in schema)
    result = tuple(zip(unique_labels(emitter, names), cells, strict=True))
    return emitter.emit("relabel", [frame], _frame(result, frame.type.rows))


@builtin("setColLabelsPrefix", "f prefix")
def set_prefix(emitter: Emitter, frame: Value, prefix: Value) -> Value:
    """Put a prefix and a point before the labels."""
    emitter.text(prefix, "prefix")
    before = str(emitter.known(prefix, "prefix"))
    schema = tuple((f"{before}.{label}", cell) for label, cell in _schema(emitter, frame, "f"))
    return emitter.emit("relabel", [frame], _frame(schema, frame.type.rows))


@builtin("registerView", "name frame")
def register_view(emitter: Emitter, name: Value, frame: Value) -> Value:
    """Make a frame known to SQL."""
    emitter.text(name, "name")
    known = str(emitter.known(name, "name"))
    emitter.views[known] = _frame(_schema(emitter, frame, "frame"))
    return emitter.emit("register_view", [frame], NOTHING, view=known)


@builtin("sql", "query")
def sql(emitter: Emitter, query: Value) -> Value:
    """Ask a query in SQL of the registered frames."""
    from freestone.lang.front.queries import expanded
    from freestone.lang.front.sql import result_schema

    emitter.text(query, "query")
    views = {
        name: [label for label, _ in type.schema or ()] for name, type in emitter.views.items()
    }
    text = expanded(str(emitter.known(query, "query")), views)
    try:
        schema = result_schema(text, emitter.views)
    except ValueError as error:
        emitter.fail(str(error))
    return emitter.emit("sql", [], _frame(schema), query=text)


def _absent(name: str) -> None:
    def lower(emitter: Emitter, *_: Value) -> Value:
        emitter.fail(f"{name} is a word of the language that does nothing yet in it; use sql(...)")

    BUILTINS[name] = Builtin(name, ("l", "r"), (), "arguments", lower)


for _name in ("leftOuterJoin", "fullOuterJoin", "antiJoin"):
    _absent(_name)


def _register_set(name: str) -> None:
    def lower(emitter: Emitter, left: Value, right: Value) -> Value:
        one, other = _schema(emitter, left, "l"), _schema(emitter, right, "r")
        if [cell for _, cell in one] != [cell for _, cell in other]:
            emitter.fail(f"{name} takes frames with the same types of columns")
        return emitter.emit("set_operation", [left, right], _frame(one), name=name)

    BUILTINS[name] = Builtin(name, ("l", "r"), (), "", lower)


for _name in ("intersect", "merge", "except"):
    _register_set(_name)
