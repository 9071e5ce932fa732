"""Calls as people write them: ``mass('file 17')``."""

from __future__ import annotations

import io
import pickle
import reprlib
from collections.abc import Sequence
from typing import Any

from freestone import _native

__all__ = ["Arguments", "call_text"]

Arguments = tuple[bytes, Sequence[str]]
"""What a function is called with, as it was encoded, and the functions that make its inputs."""

MAX_ARGUMENTS = 40
"""So many characters are shown of what is between the parentheses."""
_MORE = "..."


def call_text(label: str, arguments: Arguments | None) -> str:
    """Write a call with the beginning of its arguments; nothing of theirs is imported or called.

    Parameters
    ----------
    label
        The function.
    arguments
        None if they are not known, or too long.

    Examples
    --------
    >>> call_text("mass", None)
    'mass(...)'
    """
    shown = _MORE if arguments is None else _shown(*arguments)
    if len(shown) > MAX_ARGUMENTS:
        shown = shown[: MAX_ARGUMENTS - len(_MORE)].rstrip(" ,") + _MORE
    return f"{label}({shown})"


def _shown(encoded: bytes, makers: Sequence[str]) -> str:
    def made(position: int) -> _Text:
        return _Text(makers[position] if position < len(makers) and makers[position] else _MORE)

    def unpickled(pickled: bytes) -> Any:
        return _Unpickler(pickled, made).load()

    try:
        args, kwargs = _native.manager.readable_arguments(encoded, made, unpickled)
        positional = [_repr.repr(value) for value in args[:MAX_ARGUMENTS]]
        named = [f"{key}={_repr.repr(value)}" for key, value in (kwargs or {}).items()]
        return ", ".join(positional + named)
    # They are anybody's, and what can't be shown takes nothing from the rest of an answer.
    except Exception:
        return _MORE


class _Text:
    """Is written as a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _Unpickler(pickle.Unpickler):
    """Makes objects that are nothing but shown: what a pickle would import is never imported."""

    def __init__(self, pickled: bytes, made: Any) -> None:
        super().__init__(io.BytesIO(pickled))
        self._made = made

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (_native.executor.load_input.__module__, "load_input"):
            return self._made
        return type(name, (_Shown,), {})


class _Shown:
    """An object of a class that is not imported."""

    _shown_args: tuple[Any, ...] = ()
    _shown_items: dict[Any, Any]
    _shown_list: list[Any]
    _has_more = False

    def __new__(cls, *args: Any, **_: Any) -> _Shown:
        made = object.__new__(cls)
        made._shown_args = args
        made._shown_items = {}
        made._shown_list = []
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, _: Any) -> None:
        self._has_more = True

    def __setitem__(self, key: Any, value: Any) -> None:
        self._shown_items[key] = value

    def append(self, item: Any) -> None:
        self._shown_list.append(item)

    def extend(self, items: Any) -> None:
        self._shown_list.extend(items)

    def add(self, item: Any) -> None:
        self._shown_list.append(item)


class _Repr(reprlib.Repr):
    """Writes the beginning of a value; how long that takes does not depend on the value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = 4
        self.maxstring = self.maxlong = self.maxother = 32

    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, type):
            return x.__name__
        if not isinstance(x, _Shown):
            return super().repr1(x, level)
        name = type(x).__name__.rpartition(".")[2]
        # How a library makes its objects says nothing to others, nor does what it left out.
        is_private = name.startswith("_")
        args = [arg for arg in x._shown_args if arg is not None]
        if level <= 0 or is_private or len(args) > self.maxtuple:
            return f"{name.strip('_')}({_MORE})"
        # A subclass of a dict or a list, and what is in it.
        args += [held for held in (x._shown_items, x._shown_list) if held]
        texts = [self.repr1(arg, level - 1) for arg in args]
        return f"{name}({', '.join(texts or [_MORE] * x._has_more)})"

    def repr_ndarray(self, array: Any, _: int) -> str:
        return f"{array.dtype}{list(array.shape)}"


_repr = _Repr()
