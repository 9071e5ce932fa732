"""Where the parser is, and what comes next."""

from __future__ import annotations

from typing import NoReturn

from freestone.errors.lang import ScriptSyntaxError
from freestone.lang.front.parse.lexer import Token, tokens
from freestone.lang.front.parse.source import Location, Source, failure

DEEPEST = 200
"""How deep expressions and blocks may be nested: Python's own stack is below."""


class Cursor:
    """Walks over the tokens of a source."""

    def __init__(self, source: Source) -> None:
        self._tokens = list(tokens(source))
        self._at = 0
        self.depth: int = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    @property
    def place(self) -> Location:
        """Where it is."""
        return self.token.place

    def ahead(self, text: str, count: int = 0) -> bool:
        """Tell whether the token `count` after the next is the sign or keyword `text`."""
        at = min(self._at + count, len(self._tokens) - 1)
        token = self._tokens[at]
        return token.text == text and token.kind in ("sign", "keyword")

    def kind(self, count: int) -> str:
        """Return the kind of the token `count` after the next."""
        return self._tokens[min(self._at + count, len(self._tokens) - 1)].kind

    def next(self) -> Token:
        """Take the next token."""
        token = self.token
        if token.kind != "end":
            self._at += 1
        return token

    def take(self, text: str) -> Token | None:
        """Take the next token if it is `text`."""
        if text == "]" and self.ahead("]]"):
            return self._halved()
        return self.next() if self.ahead(text) else None

    def expect(self, text: str, why: str) -> Token:
        """Take the next token, which has to be `text`."""
        token = self.take(text)
        if token is None:
            self.fail(f"expected {text!r} {why}, found {self.token.text!r}")
        return token

    def name(self, what: str) -> Token:
        """Take the next token, which has to be a name."""
        token = self.token
        if token.kind == "keyword":
            self.fail(f"{token.text!r} is a word of the language and can't be {what}")
        if token.kind != "name":
            self.fail(f"expected {what}, found {token.text!r}")
        return self.next()

    def fail(self, problem: str) -> NoReturn:
        """Raise an error at the next token."""
        raise failure(ScriptSyntaxError, problem, self.place)

    def deeper(self) -> None:
        """Enter something nested."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"nested more than {DEEPEST} deep; give a part of it a name")

    def _halved(self) -> Token:
        # Two indexes that end together: `x[y[0, 0], z[0, 0]]`.
        whole = self.token
        rest = Location(whole.place.source, whole.place.offset + 1)
        self._tokens[self._at] = Token("sign", "]", rest)
        return Token("sign", "]", whole.place)
