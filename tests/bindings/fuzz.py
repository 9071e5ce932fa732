"""Calls of everything in `freestone._native` with arguments that nobody would give.

Whatever they are, the answer is a value or an exception, never the end of the interpreter. The last
line that is printed before a crash is the call that did it.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from freestone import _native
from tests.fuzz.fuzzers import Check

LEFT_OUT = {
    # They are processes, which read from descriptors and end with them.
    "run_executor": "takes the place of this process",
    "run_worker": "takes the place of this process",
    # Each waits for other processes, for as long as it takes.
    "meet_ranks": "waits for other ranks",
    "EventMeeting": "waits for other ranks",
    "EventInvitation": "waits for other ranks",
    "EventWorld": "waits for other ranks",
    "EventRank": "starts threads on a socket",
    "Watch": "waits for a change, for as long as it is asked to",
    # They are given addresses of arrays, which are not checked yet.
    "run_pipeline": "takes addresses",
    "sample": "takes addresses",
    "Drawing": "takes addresses",
    "copy_rows": "takes addresses",
    "copy_triangle": "takes addresses",
    "coo_draw": "takes addresses",
    "coo_merge": "takes addresses",
    "coo_offsets": "takes addresses",
    "coo_reduce": "takes addresses",
    "coo_transpose": "takes addresses",
    "csr_panel": "takes addresses",
    "csr_product": "takes addresses",
    "csr_product_sizes": "takes addresses",
    "csr_transpose": "takes addresses",
}
# Of one case; those that come later take what earlier ones returned.
CALLS = 600
DTYPES = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")
NUMBERS: tuple[int, ...] = (0, 1, 2, 3, 7, 64, 255, 256, 4097, -1, -2, 2**31 - 1, 2**31, 2**32)
NUMBERS += (2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63))
TEXTS = ("", "x", "f8", "i4", "sum", "é", "a\0b", "tcp://127.0.0.1:0", "1,2\n3,4\n", "\ud800")
TEXTS += ("0" * 32,)
MTX = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n"
BYTES = (b"", b"\0", b"1,2\n3,4\n", MTX)
# They take as long, and as much memory, as the numbers that they are given say: given smaller ones.
SIZED = ("layout_", "RowBlocks")


class Arguments:
    """Makes values, some of them what earlier calls returned."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.objects: list[Any] = []

    def value(self, depth: int = 0) -> Any:
        makers = [self.number, self.number, self.text, self.data, self.array, self.array, self.odd]
        if depth < 2:
            makers += [self.several, self.several]
        if self.objects:
            makers += [lambda: self.choose.choice(self.objects)]
        made = self.choose.choice(makers)
        return made(depth + 1) if made == self.several else made()

    def number(self) -> Any:
        if self.choose.random() < 0.2:
            return self.choose.choice((0.0, -1.5, 1e308, float("inf"), float("nan")))
        return self.choose.choice(NUMBERS)

    def text(self) -> str:
        return self.choose.choice(TEXTS)

    def data(self) -> Any:
        data = self.choose.choice((*BYTES, self.choose.randbytes(self.choose.choice((8, 16, 100)))))
        return self.choose.choice((bytes, bytearray, memoryview))(data)

    def array(self) -> Any:
        count = self.choose.choice((0, 1, 3, 16, 1000))
        array = np.arange(count).astype(self.choose.choice(DTYPES))
        change: Callable[[Any], Any] = self.choose.choice(
            (
                lambda x: x,
                lambda x: x.view("u1"),
                lambda x: x[::2],
                lambda x: x[::-1],
                lambda x: np.broadcast_to(x, (3, len(x))),
                lambda x: x.view("u1")[1:],
                lambda x: x.reshape(1, -1).T,
            )
        )
        changed = change(array)
        if self.choose.random() < 0.2:
            changed.flags.writeable = False
        return changed

    def odd(self) -> Any:
        return self.choose.choice((None, True, object(), {}, {"a": 1}, len, type, 1j, {1}))

    def several(self, depth: int) -> Any:
        kind = self.choose.choice((list, tuple))
        return kind(self.value(depth) for _ in range(self.choose.randrange(5)))


def callables(objects: list[Any]) -> list[tuple[str, Any]]:
    """Everything that can be called, methods of objects that were made among them."""
    found = [
        (name, getattr(_native, name))
        for name in sorted(vars(_native))
        if not name.startswith("_") and name not in LEFT_OUT
    ]
    for made in objects:
        for name in dir(made):
            is_special = name.startswith("__") and name not in {"__len__", "__iter__", "__next__"}
            with contextlib.suppress(Exception):
                if not is_special and callable(method := getattr(made, name)):
                    found.append((f"{type(made).__name__}.{name}", method))
    return [(name, each) for name, each in found if callable(each)]


def arguments_of(function: Any, arguments: Arguments) -> tuple[list[Any], dict[str, Any]]:
    """As many as it takes, for the most part, so that calls get beyond the count of them."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [arguments.value() for _ in range(arguments.choose.randrange(4))], {}
    if arguments.choose.random() < 0.1:
        parameters = parameters[:-1]
    named = {p.name: arguments.value() for p in parameters if p.kind is p.KEYWORD_ONLY}
    is_placed = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return [arguments.value() for p in parameters if p.kind in is_placed], named


def smaller(value: Any) -> Any:
    """Take what is large, and yet no number that is refused at once, out of a value."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(smaller, value))
    if isinstance(value, np.ndarray):
        return value % 97
    return value % 97 if type(value) is int and 97 < value < 2**63 else value


def run(seed: int, calls: int) -> None:
    """Make so many calls."""
    arguments = Arguments(seed)
    for _ in range(calls):
        name, function = arguments.choose.choice(callables(arguments.objects))
        placed, named = arguments_of(function, arguments)
        if name.startswith(SIZED):
            placed, named = smaller(placed), {key: smaller(each) for key, each in named.items()}
        shown = f"{name}(*{placed!r:.2000}, **{named!r:.500})"
        os.write(1, shown.encode("utf-8", "backslashreplace") + b"\n")
        # A panic is an exception that derives from BaseException.
        with contextlib.suppress(BaseException):
            made = function(*placed, **named)
            if type(made).__module__ == "freestone._native" and len(arguments.objects) < 40:
                arguments.objects.append(made)
            memoryview(made).tobytes()


@contextlib.contextmanager
def checking() -> Iterator[Check]:
    """Open the check, which prints each call before it is made; a crash ends the process."""
    np.set_printoptions(threshold=4)

    def check(seed: int) -> None:
        run(seed, CALLS)

    with tempfile.TemporaryDirectory(prefix="freestone-fuzz-") as folder, contextlib.chdir(folder):
        yield check
