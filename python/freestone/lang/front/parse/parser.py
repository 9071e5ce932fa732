"""Statements: from a source to its syntax tree."""

from __future__ import annotations

from collections.abc import Callable

from freestone.lang.front.parse import tree
from freestone.lang.front.parse.cursor import Cursor
from freestone.lang.front.parse.expressions import dotted, expression, index, value_word
from freestone.lang.front.parse.lexer import VALUE_WORDS
from freestone.lang.front.parse.source import Source
from freestone.lang.front.parse.tree import Expression, Statement


def parse(source: Source) -> list[Statement]:
    """Read a script.

    Raises
    ------
    ScriptSyntaxError
        With the place of the first token that can't be there.
    """
    cursor = Cursor(source)
    statements: list[Statement] = []
    while cursor.token.kind != "end":
        statements.append(_top_level(cursor))
    return statements


def _top_level(cursor: Cursor) -> Statement:
    return _define(cursor) if cursor.ahead("def") else _statement(cursor)


def _statement(cursor: Cursor) -> Statement:
    cursor.deeper()
    read: dict[str, Callable[[Cursor], Statement]] = {
        "{": _block,
        "if": _if,
        "while": _while,
        "do": _do,
        "for": _for,
        "return": _return,
        "import": _import,
        "def": _misplaced_define,
    }
    token = cursor.token
    kind = token.text if token.kind in ("sign", "keyword") else ""
    statement = read.get(kind, _simple)(cursor)
    cursor.depth -= 1
    return statement


def _misplaced_define(cursor: Cursor) -> Statement:
    return cursor.fail("a function can be defined only at the top level of a script")


def _block(cursor: Cursor) -> tree.Block:
    place = cursor.expect("{", "before a block").place
    statements: list[Statement] = []
    while not cursor.take("}"):
        if cursor.token.kind == "end":
            cursor.fail(f"the block that begins in line {place.line} has no end: a '}}' is missing")
        statements.append(_statement(cursor))
    cursor.take(";")
    return tree.Block(place, statements)


def _condition(cursor: Cursor, word: str) -> Expression:
    cursor.expect("(", f"after {word!r}")
    condition = expression(cursor)
    cursor.expect(")", "after the condition")
    return condition


def _if(cursor: Cursor) -> tree.If:
    place = cursor.next().place
    condition = _condition(cursor, "if")
    then = _statement(cursor)
    otherwise = _statement(cursor) if cursor.take("else") else None
    return tree.If(place, condition, then, otherwise)


def _while(cursor: Cursor) -> tree.While:
    place = cursor.next().place
    condition = _condition(cursor, "while")
    return tree.While(place, condition, _statement(cursor), test_first=True)


def _do(cursor: Cursor) -> tree.While:
    place = cursor.next().place
    body = _statement(cursor)
    cursor.expect("while", "after the body of 'do'")
    condition = _condition(cursor, "while")
    cursor.take(";")
    return tree.While(place, condition, body, test_first=False)


def _for(cursor: Cursor) -> tree.For:
    place = cursor.next().place
    cursor.expect("(", "after 'for'")
    name = cursor.name("the name of a loop's variable").text
    cursor.expect("in", "after the loop's variable")
    begin = expression(cursor)
    cursor.expect(":", "between the ends of a loop")
    end = expression(cursor)
    step = expression(cursor) if cursor.take(":") else None
    cursor.expect(")", "after the ends of a loop")
    return tree.For(place, name, begin, end, step, _statement(cursor))


def _return(cursor: Cursor) -> tree.Return:
    place = cursor.next().place
    values: list[Expression] = []
    while not cursor.ahead(";"):
        values.append(expression(cursor))
        if not cursor.take(","):
            break
    _end(cursor)
    return tree.Return(place, values)


def _import(cursor: Cursor) -> tree.Import:
    place = cursor.next().place
    path = _string(cursor, "the path of a script")
    alias = _string(cursor, "an alias") if cursor.take("as") else None
    _end(cursor)
    return tree.Import(place, path, alias)


def _string(cursor: Cursor, what: str) -> str:
    if cursor.token.kind != "literal" or cursor.token.value_type != "str":
        cursor.fail(f"expected {what} in double quotes, found {cursor.token.text!r}")
    return str(cursor.next().value)


def _end(cursor: Cursor) -> None:
    cursor.expect(";", "at the end of a statement")


def _simple(cursor: Cursor) -> Statement:
    place = cursor.place
    if not _assigns(cursor):
        value = expression(cursor)
        if cursor.ahead("="):
            cursor.fail("only a variable, or a part of one, can be assigned to")
        _end(cursor)
        return tree.Evaluate(place, value)
    targets = [_target(cursor)]
    while cursor.take(","):
        targets.append(_target(cursor))
    cursor.expect("=", "after what is assigned to")
    value = expression(cursor)
    _end(cursor)
    return tree.Assign(place, targets, value)


def _assigns(cursor: Cursor) -> bool:
    # Looks for a '=' outside of all brackets before the end of the statement.
    depth = count = 0
    if cursor.token.kind != "name":
        return False
    while not cursor.ahead(";", count) and cursor.kind(count) != "end":
        if depth == 0 and cursor.ahead("=", count):
            return True
        for opening, step in (("(", 1), ("[", 1), ("[[", 2), ("{", 1)):
            depth += step * cursor.ahead(opening, count)
        for closing, step in ((")", 1), ("]", 1), ("]]", 2), ("}", 1)):
            depth -= step * cursor.ahead(closing, count)
        if depth < 0:
            return False
        count += 1
    return False


def _target(cursor: Cursor) -> tree.Target:
    place = cursor.place
    name = dotted(cursor)
    if not cursor.ahead("["):
        return tree.Target(place, name)
    return tree.Target(place, name, index(cursor, tree.Name(place, name)))


def _define(cursor: Cursor) -> tree.Define:
    place = cursor.next().place
    name = cursor.name("the name of a function").text
    cursor.expect("(", "before the parameters of a function")
    parameters: list[tree.Parameter] = []
    while not cursor.ahead(")"):
        parameters.append(_parameter(cursor))
        if not cursor.take(","):
            break
    cursor.expect(")", "after the parameters of a function")
    results = _results(cursor) if cursor.take("->") else None
    return tree.Define(place, name, parameters, results, _block(cursor))


def _parameter(cursor: Cursor) -> tree.Parameter:
    token = cursor.name("the name of a parameter")
    return tree.Parameter(token.place, token.text, _type(cursor) if cursor.take(":") else None)


def _results(cursor: Cursor) -> list[tree.TypeWord]:
    results = [_type(cursor)]
    while cursor.take(","):
        results.append(_type(cursor))
    return results


def _type(cursor: Cursor) -> tree.TypeWord:
    word = cursor.token
    if word.text in VALUE_WORDS:
        return tree.TypeWord(word.place, "scalar", value_word(cursor))
    if word.text not in ("matrix", "frame", "scalar", "list"):
        cursor.fail(f"{word.text!r} is no type; write matrix<f64>, matrix, frame or f64")
    cursor.next()
    value_type = None
    if cursor.take("<"):
        value_type = value_word(cursor)
        cursor.expect(">", "after a value type")
    return tree.TypeWord(word.place, word.text, value_type)
