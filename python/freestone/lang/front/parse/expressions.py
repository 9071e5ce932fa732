"""Expressions, tightest first: all operators are left-associative."""

from __future__ import annotations

from freestone.lang.front.parse import tree
from freestone.lang.front.parse.cursor import Cursor
from freestone.lang.front.parse.lexer import VALUE_WORDS, literal_value, needs_minus
from freestone.lang.front.parse.source import Location
from freestone.lang.front.parse.tree import Expression

LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "like"),
    ("+", "-"),
    ("*", "/"),
    ("%",),
    ("^",),
    ("@",),
)
"""Binary operators from the loosest level to the tightest."""

_DATA_WORDS = ("matrix", "scalar", "frame")


def expression(cursor: Cursor) -> Expression:
    """Read an expression: a choice, or anything tighter."""
    cursor.deeper()
    value = _binary(cursor, 0)
    while cursor.ahead("?"):
        place = cursor.next().place
        then = expression(cursor)
        cursor.expect(":", "between the two values of ?:")
        value = tree.Choice(place, value, then, _binary(cursor, 0))
    cursor.depth -= 1
    return value


def _binary(cursor: Cursor, level: int) -> Expression:
    if level == len(LEVELS):
        return _unary(cursor)
    left = _binary(cursor, level + 1)
    # A name right after an expression is an operator, if anything: `like` stays free as a name.
    while cursor.token.kind in ("sign", "name") and cursor.token.text in LEVELS[level]:
        sign = cursor.next()
        kernel = _kernel(cursor)
        right = _binary(cursor, level + 1)
        left = tree.Binary(sign.place, sign.text, left, right, kernel)
    return left


def _kernel(cursor: Cursor) -> str | None:
    return cursor.name("the name of a kernel").text if cursor.take("::") else None


def _unary(cursor: Cursor) -> Expression:
    sign = cursor.take("-") or cursor.take("+")
    if sign is None:
        return _indexed(cursor)
    if sign.text == "-" and needs_minus(cursor.token):
        return tree.Literal(sign.place, -(2**63), cursor.next().value_type)
    cursor.deeper()
    operand = _unary(cursor)
    cursor.depth -= 1
    return tree.Unary(sign.place, sign.text, operand)


def _indexed(cursor: Cursor) -> Expression:
    value = _primary(cursor)
    while cursor.ahead("[") or cursor.ahead("[["):
        value = _filter(cursor, value) if cursor.ahead("[[") else index(cursor, value)
    return value


def index(cursor: Cursor, operand: Expression) -> tree.Index:
    """Read ``[rows, columns]``."""
    place = cursor.expect("[", "before an index").place
    rows = _side(cursor, ",")
    cursor.expect(",", "between the rows and the columns of an index; write x[rows, columns]")
    columns = _side(cursor, "]")
    cursor.expect("]", "after an index")
    return tree.Index(place, operand, rows, columns)


def _side(cursor: Cursor, end: str) -> Expression | tree.Range | None:
    if cursor.ahead(end) or (end == "]" and cursor.ahead("]]")):
        return None
    place = cursor.place
    begin = None if cursor.ahead(":") else expression(cursor)
    if not cursor.take(":"):
        return begin
    closed = cursor.ahead(end) or (end == "]" and cursor.ahead("]]"))
    return tree.Range(place, begin, None if closed else expression(cursor))


def _filter(cursor: Cursor, operand: Expression) -> tree.Filter:
    place = cursor.expect("[[", "before a filter").place
    rows = None if cursor.ahead(",") else expression(cursor)
    cursor.expect(",", "between the rows and the columns of a filter; write x[[rows, columns]]")
    columns = None if cursor.ahead("]]") else expression(cursor)
    why = "after a filter; a list of positions needs a blank: x[ [1, 2], ]"
    if not cursor.take("]]"):
        # A list that ends right before the filter takes the first of three brackets for both.
        cursor.expect("]", why)
        cursor.expect("]", why)
    return tree.Filter(place, operand, rows, columns)


def _primary(cursor: Cursor) -> Expression:
    token = cursor.token
    if token.kind == "literal":
        cursor.next()
        return tree.Literal(token.place, literal_value(token), token.value_type)
    if token.kind == "name":
        return _named(cursor)
    if cursor.take("$"):
        return tree.Argument(token.place, cursor.name("the name of an argument").text)
    if cursor.take("("):
        value = expression(cursor)
        cursor.expect(")", "after an expression in brackets")
        return value
    if cursor.ahead("["):
        return _matrix(cursor)
    if cursor.ahead("{"):
        return _frame(cursor)
    if cursor.ahead("as"):
        return _cast(cursor)
    return cursor.fail(f"expected an expression, found {token.text!r}")


def _named(cursor: Cursor) -> Expression:
    place = cursor.place
    name = dotted(cursor)
    kernel = _kernel(cursor)
    if not cursor.take("("):
        if kernel:
            cursor.fail("only a call can choose a kernel")
        return tree.Name(place, name)
    arguments: list[Expression] = []
    keywords: dict[str, Expression] = {}
    while not cursor.ahead(")"):
        if cursor.token.kind == "name" and cursor.ahead("=", 1):
            word = cursor.next()
            cursor.next()
            if word.text in keywords:
                cursor.fail(f"argument {word.text!r} is given twice")
            keywords[word.text] = expression(cursor)
        elif keywords:
            cursor.fail("an argument without a name can't follow one with a name")
        else:
            arguments.append(expression(cursor))
        if not cursor.take(","):
            break
    if name == "parfor" and cursor.ahead("in"):
        cursor.fail(
            "there is no parfor; write for: --vec and --distributed run the operations of a script "
            "in parallel"
        )
    cursor.expect(")", f"after the arguments of {name}")
    return tree.Call(place, name, arguments, keywords, kernel)


def dotted(cursor: Cursor) -> str:
    """Read ``name`` or ``import.name``."""
    name = cursor.name("a name").text
    while cursor.take("."):
        name += "." + cursor.name("a name").text
    return name


def _items(cursor: Cursor) -> list[Expression]:
    cursor.expect("[", "before a list of values")
    items: list[Expression] = []
    while not cursor.ahead("]") and not cursor.ahead("]]"):
        items.append(expression(cursor))
        if not cursor.take(","):
            break
    cursor.expect("]", "after a list of values")
    return items


def _matrix(cursor: Cursor) -> tree.MatrixLiteral:
    place = cursor.place
    literal = tree.MatrixLiteral(place, _items(cursor))
    if cursor.take("("):
        literal.rows = None if cursor.ahead(",") else expression(cursor)
        cursor.expect(",", "between the rows and the columns of a matrix's shape")
        literal.columns = None if cursor.ahead(")") else expression(cursor)
        cursor.expect(")", "after a matrix's shape")
    return literal


def _frame(cursor: Cursor) -> tree.FrameColumns | tree.FrameRows:
    place = cursor.expect("{", "before a frame").place
    if cursor.ahead("["):
        return _frame_by_rows(cursor, place)
    frame = tree.FrameColumns(place, [], [])
    while not cursor.ahead("}"):
        frame.labels.append(expression(cursor))
        cursor.expect(":", "between a label and its column")
        frame.columns.append(expression(cursor))
        if not cursor.take(","):
            break
    cursor.expect("}", "after a frame")
    return frame


def _frame_by_rows(cursor: Cursor, place: Location) -> tree.FrameRows:
    frame = tree.FrameRows(place, _items(cursor), [])
    while cursor.take(",") and not cursor.ahead("}"):
        frame.rows.append(_items(cursor))
    cursor.expect("}", "after a frame")
    return frame


def _cast(cursor: Cursor) -> tree.Cast:
    place = cursor.expect("as", "before a cast").place
    cursor.expect(".", "after 'as'; write as.f64(x) or as.matrix<f64>(x)")
    word = cursor.next()
    data_type = value_type = None
    if word.text in _DATA_WORDS:
        data_type = word.text
        if cursor.take("<"):
            value_type = value_word(cursor)
            cursor.expect(">", "after a value type")
    elif word.text in VALUE_WORDS:
        value_type = word.text
    else:
        known = " ".join([*_DATA_WORDS, *sorted(VALUE_WORDS)])
        cursor.fail(f"{word.text!r} is no type to cast to; there are {known}")
    cursor.expect("(", "before what is cast")
    operand = expression(cursor)
    cursor.expect(")", "after what is cast")
    return tree.Cast(place, data_type, value_type, operand)


def value_word(cursor: Cursor) -> str:
    """Read a value type."""
    if cursor.token.text not in VALUE_WORDS:
        known = " ".join(sorted(VALUE_WORDS))
        cursor.fail(f"{cursor.token.text!r} is no value type; there are {known}")
    return cursor.next().text
