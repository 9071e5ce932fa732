"""From text to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from freestone.errors.lang import ScriptSyntaxError
from freestone.lang.front.parse.source import Location, Source, failure

KEYWORDS = frozenset(
    [
        "if",
        "else",
        "while",
        "do",
        "for",
        "in",
        "true",
        "false",
        "as",
        "def",
        "return",
        "import",
        "matrix",
        "scalar",
        "frame",
        "f64",
        "f32",
        "si64",
        "si32",
        "si8",
        "ui64",
        "ui32",
        "ui8",
        "str",
        "bool",
        "nan",
        "nanf",
        "inf",
        "inff",
    ]
)
VALUE_WORDS = frozenset(["f64", "f32", "si64", "si32", "si8", "ui64", "ui32", "ui8", "str", "bool"])

_DIGITS = r"(?:0|[1-9](?:[_']?[0-9])*)"
_EXPONENT = r"(?:0|[1-9][0-9]*)"
_TOKEN = re.compile(
    rf"""
    (?P<blank>[ \t\r\n]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
  | (?P<float>{_DIGITS}(?:\.[0-9](?:[_']?[0-9])*(?:[eE][+-]?{_EXPONENT})?|[eE][+-]?{_EXPONENT})f?)
  | (?P<int>{_DIGITS}(?:ull|u|l|z)?)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<sign>\[\[|\]\]|==|!=|<=|>=|&&|\|\||->|::|[-+*/^%@=<>?:;,.(){{}}\[\]$])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_MAX_SIGNED, _MAX_UNSIGNED = 2**63 - 1, 2**64 - 1


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text that means one thing.

    Attributes
    ----------
    kind : str
        ``name``, ``keyword``, ``sign``, ``literal`` or ``end``.
    text : str
        As it is written.
    value : int, float, bool, str or None
        Of a literal.
    value_type : str
        Of a literal, such as ``si64``.
    """

    kind: str
    text: str
    place: Location
    value: int | float | str | bool | None = None
    value_type: str = ""


def tokens(source: Source) -> Iterator[Token]:
    """Yield the tokens of a source, and one of kind ``end``.

    Raises
    ------
    ScriptSyntaxError
        At a letter that begins nothing, an unknown escape, or a number that is too large.
    """
    offset, text = 0, source.text
    while offset < len(text):
        found = _TOKEN.match(text, offset)
        if found is None:
            raise _unknown(source, offset)
        if found.lastgroup != "blank":
            yield _token(str(found.lastgroup), found.group(), source.place(offset))
        offset = found.end()
    yield Token("end", "the end of the script", source.place(len(text)))


def _unknown(source: Source, offset: int) -> ScriptSyntaxError:
    letter, place = source.text[offset], source.place(offset)
    if letter == '"':
        return failure(ScriptSyntaxError, "this string has no end: a '\"' is missing", place)
    if source.text.startswith("/*", offset):
        return failure(ScriptSyntaxError, "this comment has no end: a '*/' is missing", place)
    if letter == "!":
        return failure(ScriptSyntaxError, "there is no '!'; write x == 0 for its opposite", place)
    return failure(ScriptSyntaxError, f"unexpected letter {letter!r}", place)


def _token(group: str, text: str, place: Location) -> Token:
    if group == "word":
        return _word(text, place)
    if group == "float":
        value_type = "f32" if text.endswith("f") else "f64"
        return Token("literal", text, place, _float(text.rstrip("f"), value_type), value_type)
    if group == "int":
        return _integer(text, place)
    if group == "string":
        return Token("literal", text, place, _unescaped(text, place), "str")
    return Token("sign", text, place)


def _float(text: str, value_type: str) -> float:
    value = float(text.replace("'", "").replace("_", ""))
    if value_type == "f64":
        return value
    from freestone.lang.front.types.scalars import wrapped

    return float(wrapped("f32", value))


def _word(text: str, place: Location) -> Token:
    if text in ("true", "false"):
        return Token("literal", text, place, text == "true", "bool")
    if text in ("nan", "inf", "nanf", "inff"):
        value_type = "f32" if text.endswith("f") and text != "inf" else "f64"
        return Token("literal", text, place, float(text[:3]), value_type)
    return Token("keyword" if text in KEYWORDS else "name", text, place)


def _integer(text: str, place: Location) -> Token:
    digits = text.rstrip("ulz")
    bare = digits.replace("'", "").replace("_", "")
    # Python refuses to read numbers of thousands of digits.
    value = int(bare[: len(str(_MAX_UNSIGNED)) + 1])
    suffix = text[len(digits) :]
    unsigned = suffix in ("u", "ull", "z")
    token = Token("literal", text, place, value, "ui64" if unsigned else "si64")
    # The minimum can't be written otherwise: its minus is an operator.
    if value > (_MAX_UNSIGNED if unsigned else _MAX_SIGNED + 1):
        raise _too_large(token)
    return token


def needs_minus(token: Token) -> bool:
    """Tell whether a token is the literal that only fits into ``si64`` right after a minus."""
    return token.value_type == "si64" and token.value == _MAX_SIGNED + 1


def literal_value(token: Token) -> int | float | str | bool:
    """Return the value of a literal that has no minus before it.

    Raises
    ------
    ScriptSyntaxError
        If it only fits with one.
    """
    assert token.value is not None
    if needs_minus(token):
        raise _too_large(token)
    return token.value


def _too_large(token: Token) -> ScriptSyntaxError:
    digits = _short(token.text.rstrip("ulz"))
    problem = f"the number {digits} does not fit into {token.value_type}"
    return failure(ScriptSyntaxError, problem, token.place)


def _short(digits: str) -> str:
    return digits if len(digits) <= 40 else f"{digits[:30]}... of {len(digits)} digits"


def _unescaped(text: str, place: Location) -> str:
    def letter(found: re.Match[str]) -> str:
        escape = found.group(1)
        if escape not in _ESCAPES:
            at = Location(place.source, place.offset + 1 + found.start())
            known = " ".join(f"\\{known}" for known in _ESCAPES)
            problem = f"unknown escape \\{escape}; there are {known}"
            raise failure(ScriptSyntaxError, problem, at)
        return _ESCAPES[escape]

    return re.sub(r"\\(.)", letter, text[1:-1], flags=re.DOTALL)
