"""Arguments for calls of the native module: ones that fit, ones that nearly do, and any others."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from freestone import _native
from freestone.events.settings import resolve
from freestone.lang.settings import LAYOUTS, SCHEMES, VICTIMS, Settings

PUBLIC: dict[str, Any] = {
    name: value
    for module in [_native, *filter(inspect.ismodule, vars(_native).values())]
    for name, value in sorted(vars(module).items())
    if not name.startswith("__") and not inspect.ismodule(value)
}
"""All that the native module and its submodules offer; no two have a name in common."""
CODES = ("i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8")
DTYPES = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c16", "O", ">f8")
NUMBERS: tuple[int, ...] = (0, 1, 2, 3, 7, 64, 255, 256, 4097, -1, -2, 2**31 - 1, 2**31, 2**32)
NUMBERS += (2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63))
SECONDS = (0.0, 0.01, -1.0, 1e308, float("inf"), float("nan"), 0)
TEXTS = ("", "x", "f8", "i4", "sum", "é", "a\0b", "tcp://127.0.0.1:0", "1,2\n3,4\n", "\ud800")
TEXTS += ("0" * 32,)
CSV = b"1,2\n3,4\n5,6\n"
MTX = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n"
BYTES = (b"", b"\0", CSV, MTX)
OPERATIONS = ("add", "sub", "mul", "div", "pow", "mod", "min", "max", "eq", "lt", "and", "or")
REDUCTIONS = ("sum", "min", "max")
UNARY = ("sqrt", "abs", "exp", "ln", "sign", "round", "floor", "isNan", "minus", "sin")


class Arguments:
    """Makes values, some of them what earlier calls returned."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.objects: list[Any] = []

    def value(self, depth: int = 0) -> Any:
        """Make any value."""
        makers = [self.number, self.number, self.text, self.data, self.array, self.array, self.odd]
        if depth < 2:
            makers += [self.several, self.several]
        if self.objects:
            makers += [lambda: self.choose.choice(self.objects)]
        made = self.choose.choice(makers)
        return made(depth + 1) if made == self.several else made()

    def number(self) -> Any:
        """Make a number."""
        if self.choose.random() < 0.2:
            return self.choose.choice((0.0, -1.5, 1e308, float("inf"), float("nan")))
        return self.choose.choice(NUMBERS)

    def text(self) -> str:
        """Make a text."""
        return self.choose.choice(TEXTS)

    def data(self) -> Any:
        """Make bytes, in any of the types that hold them."""
        data = self.choose.choice((*BYTES, self.choose.randbytes(self.choose.choice((8, 16, 100)))))
        return self.choose.choice((bytes, bytearray, memoryview))(data)

    def array(self) -> Any:
        """Make an array, some of them of no layout that a kernel reads."""
        count = self.choose.choice((0, 1, 3, 16, 1000))
        array = np.arange(count).astype(self.choose.choice(DTYPES))
        return self.bent(array) if self.choose.random() < 0.7 else array

    def bent(self, array: Any) -> Any:
        """Return an array with other elements, another layout, or another shape."""
        change: Callable[[Any], Any] = self.choose.choice(
            (
                lambda x: x.astype(self.choose.choice(DTYPES)),
                lambda x: x[::2],
                lambda x: x[::-1],
                lambda x: x[:-1],
                lambda x: np.concatenate([x, x]),
                lambda x: np.broadcast_to(x, (3, *x.shape)),
                lambda x: x.reshape(1, -1).T,
                lambda x: (
                    np.frombuffer(b"\0" * (x.nbytes + 1), "u1")[1:].view(x.dtype)
                    if x.dtype != object
                    else x
                ),
                lambda x: np.asfortranarray(x),
                self.spoiled,
            )
        )
        try:
            changed = change(array)
        except (OverflowError, TypeError, ValueError):
            # Objects that are no such numbers.
            return array
        if self.choose.random() < 0.2:
            changed.flags.writeable = False
        return changed

    def spoiled(self, array: Any) -> Any:
        """Return a copy of an array with some numbers that do not belong there."""
        array = array.copy()
        for _ in range(self.choose.randrange(1, 4)):
            if array.size and array.dtype.kind in "iuf":
                wrong = self.choose.choice((-1, 0, 2**31 - 1, 2**62, array.size, array.size + 1))
                array.reshape(-1)[self.choose.randrange(array.size)] = np.array(wrong).astype(
                    array.dtype
                )
        return array

    def odd(self) -> Any:
        """Make something that hardly anything takes."""
        return self.choose.choice((None, True, object(), {}, {"a": 1}, len, type, 1j, {1}))

    def several(self, depth: int) -> Any:
        """Make a list or a tuple."""
        kind = self.choose.choice((list, tuple))
        return kind(self.value(depth) for _ in range(self.choose.randrange(5)))

    def named(self, name: str) -> Any:
        """Make what a parameter of this name takes, for the most part."""
        if name.endswith("_s") and self.choose.random() < 0.9:
            return self.choose.choice(SECONDS)
        makers = NAMED.get(name)
        if makers is None or self.choose.random() < 0.2:
            return self.value()
        return self.choose.choice(makers)(self)

    def of_class(self, kind: type) -> Any:
        """Return one of the objects of a class, if there is one."""
        return self.choose.choice([one for one in self.objects if isinstance(one, kind)] or [None])

    def size(self) -> int:
        """Make a number that fits, or any other one."""
        return self.choose.choice((1, 2, 3, 4, self.choose.choice(NUMBERS)))

    def nearly(self, *given: Any) -> list[Any]:
        """Return arguments that fit, half of the time one of them changed."""
        found = list(given)
        if found and self.choose.random() < 0.6:
            at = self.choose.randrange(len(found))
            found[at] = self.changed(found[at])
        return found

    def changed(self, value: Any) -> Any:
        """Return a value that is another one, or has another one in it."""
        if self.choose.random() < 0.1:
            return self.value()
        if isinstance(value, (list, tuple)) and value:
            parts = list(value)
            at = self.choose.randrange(len(parts))
            parts[at] = self.changed(parts[at])
            return type(value)(parts)
        if isinstance(value, np.ndarray):
            return self.bent(value)
        if isinstance(value, str):
            return self.text()
        return self.number() if isinstance(value, (int, float)) else self.value()

    # What belongs together.

    def csr(self, rows: int, columns: int, code: int) -> tuple[Any, Any, Any]:
        """Make CSR."""
        counts = [self.choose.randrange(3) for _ in range(rows)]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype("i8")
        places = [self.choose.randrange(max(columns, 1)) for _ in range(int(offsets[-1]))]
        cells = np.arange(len(places)).astype(CODES[code])
        return offsets, np.array(places, self.choose.choice(("i4", "u4"))), cells

    def coo(self, rows: int, columns: int, count: int, code: int) -> tuple[Any, Any, Any]:
        """Make elements with their places."""
        at = sorted(self.choose.randrange(max(rows, 1)) for _ in range(count))
        across = [self.choose.randrange(max(columns, 1)) for _ in range(count)]
        return np.array(at, "u4"), np.array(across, "u4"), np.ones(count, CODES[code])

    def code(self) -> int:
        """Make the code of a type of elements."""
        return self.choose.randrange(8)

    def pipeline(self) -> list[Any]:
        """Make a pipeline."""
        rows, columns, code = self.choose.choice((1, 5, 300)), self.choose.choice((1, 4)), 7
        if self.choose.random() < 0.5:
            code = self.code()
        forms = {"full": (rows, columns), "row": (1, columns), "column": (rows, 1)}
        inputs: list[Any] = [(code, "scalar", None, 2.0, 2)]
        for form in self.choose.sample(sorted(forms), self.choose.randrange(1, 4)):
            inputs.append((code, form, np.ones(forms[form], CODES[code]), 0.0, 0))
        structure, stored = None, rows * columns
        if self.choose.random() < 0.4:
            offsets, places, cells = self.csr(rows, columns, code)
            structure, stored = (offsets, places), len(cells)
            inputs.append((code, "sparse", cells, 0.0, 0))
        instructions, count = [], len(inputs)
        for _ in range(self.choose.randrange(4)):
            instructions.append(self.instruction(code, count))
            count += 1
        outputs = [self.output(code, count, (rows, columns, stored)) for _ in range(2)]
        return self.nearly(
            (rows, columns), inputs, structure, instructions, outputs, self.settings()
        )

    def instruction(self, code: int, count: int) -> tuple[Any, ...]:
        """Make an instruction of some of so many registers."""
        sides = [self.choose.randrange(count) for _ in range(3)]
        return self.choose.choice(
            (
                ("binary", self.choose.choice(OPERATIONS), code, sides[:2]),
                ("binary", "mul", code, [count - 1, sides[0]]),
                ("unary", self.choose.choice(UNARY), code, sides[:1]),
                ("cast", "", self.code(), sides[:1]),
                ("select", "", code, sides),
                ("row_reduce", self.choose.choice(REDUCTIONS), code, sides[:1]),
                ("row_product", "", code, sides[:2]),
            )
        )

    def output(self, code: int, count: int, sizes: tuple[int, int, int]) -> tuple[Any, ...]:
        """Make an output of one of so many registers."""
        rows, columns, stored = sizes
        register = self.choose.choice((count - 1, self.choose.randrange(count)))
        length = self.choose.choice((rows * columns, rows, stored))
        reduction = self.choose.choice(REDUCTIONS)
        return self.choose.choice(
            (
                ("store", "", register, np.zeros(length, CODES[code])),
                ("reduce", reduction, register, None),
                ("column_reduce", reduction, register, np.zeros(columns, CODES[code])),
            )
        )

    def settings(self) -> Settings:
        """Make the settings of a pipeline, few of them of use."""
        return Settings(
            partitioning=self.choose.choice((*SCHEMES, "x")),
            queue_layout=self.choose.choice(LAYOUTS),
            victim_selection=self.choose.choice(VICTIMS),
            num_threads=self.choose.choice((0, 1, 2, 3, self.choose.choice(NUMBERS))),
            grain_size=self.size(),
            batch_bytes=self.choose.choice((0, 64, self.choose.choice(NUMBERS))),
            pre_partition=self.choose.random() < 0.3,
            pin_workers=self.choose.random() < 0.1,
        )

    def product(self) -> tuple[int, tuple[Any, ...], tuple[Any, ...], tuple[int, int, int]]:
        """Make two factors of CSR."""
        rows, inner, columns = (self.choose.choice((0, 1, 3, 200)) for _ in range(3))
        code = self.code()
        left, right = self.csr(rows, inner, code), self.csr(inner, columns, code)
        return code, left, right, (rows, inner, columns)

    def csr_panel(self) -> list[Any]:
        """Make the arguments of a product with a dense matrix."""
        code, left, _, (rows, inner, columns) = self.product()
        right, out = (np.ones((n, columns), CODES[code]) for n in (inner, rows))
        return self.nearly(code, left, right, columns, self.size(), out)

    def csr_product_sizes(self) -> list[Any]:
        """Make the arguments that count a product."""
        code, left, right, (rows, _, columns) = self.product()
        return self.nearly(code, left, right, columns, 2, np.zeros(rows, "i8"))

    def csr_product(self) -> list[Any]:
        """Make the arguments of a product of CSR."""
        code, left, right, (rows, _, columns) = self.product()
        offsets = np.zeros(rows + 1, "i8")
        _native.vector.csr_product_sizes(code, left, right, columns, 1, offsets[1:])
        np.cumsum(offsets, out=offsets)
        out = offsets, np.zeros(offsets[-1], "u4"), np.zeros(offsets[-1], CODES[code])
        return self.nearly(code, left, right, columns, 2, out)

    def csr_transpose(self) -> list[Any]:
        """Make the arguments of a transpose."""
        code, left, _, (_, inner, _) = self.product()
        count = len(left[2])
        out = np.zeros(inner + 1, "i8"), np.zeros(count, "i4"), np.zeros(count, CODES[code])
        return self.nearly(code, left, out)

    def coo_arguments(self, name: str) -> list[Any]:
        """Make the arguments of a kernel of elements with their places."""
        code, rows, columns, count = self.code(), 5, self.choose.choice((1, 7, 900)), 12
        one, two, out = (self.coo(rows, columns, n, code) for n in (count, 4, count + 4))
        return {
            "coo_merge": lambda: self.nearly(self.choose.choice(OPERATIONS), code, one, two, out),
            "coo_transpose": lambda: self.nearly(code, columns, one, out),
            "coo_reduce": lambda: self.nearly(
                self.choose.choice(REDUCTIONS), code, 7, one[0], one[2], np.zeros(5, CODES[code])
            ),
            "coo_offsets": lambda: self.nearly(one[0], np.zeros(rows + 1, "i8")),
        }[name]()

    def copied(self, name: str) -> list[Any]:
        """Make the arguments of a copy of rows."""
        rows, columns = self.choose.choice(((3, 3), (200, 200), (300, 1), (1, 300)))
        code = self.code()
        source, target = (np.ones((rows, columns), CODES[code]) for _ in range(2))
        if name == "copy_rows":
            return self.nearly(source, target, self.size())
        return self.nearly(source, target, True, False, self.size())

    def each(self, name: str) -> list[Any]:
        """Make the arguments of an operation on each element."""
        code, count = self.code(), self.choose.choice((0, 1, 7, 900))
        one, two, out = (np.ones(count, CODES[code]) for _ in range(3))
        if name == "map_one":
            return self.nearly(self.choose.choice(("round", "isNan", "abs")), code, one, out)
        return self.nearly(self.choose.choice(OPERATIONS), code, one, two, out)

    def drawn(self, name: str) -> list[Any]:
        """Make the arguments of random numbers."""
        code = self.choose.choice((4, 6, 7))
        if name == "Drawing":
            return self.nearly(code, 100, -1, 2, self.choose.random(), 7)
        return self.nearly(code, np.zeros(10, CODES[code]), 100.0, self.choose.random() < 0.5, 7)


def _array_of(*codes: str) -> Callable[[Arguments], Any]:
    return lambda made: np.ones(made.choose.choice((0, 1, 6, 100)), made.choose.choice(codes))


def _list_of(count: int) -> Callable[[Arguments], Any]:
    return lambda made: sorted(made.choose.randrange(9) for _ in range(count))


def _object_of(name: str) -> Callable[[Arguments], Any]:
    return lambda made: made.of_class(PUBLIC[name])


def _column(made: Arguments) -> tuple[Any, ...]:
    rows = made.choose.choice((0, 3, 8))
    code = made.choose.choice((*CODES, "b1", "str"))
    data = np.ones(64, "u1" if code in ("b1", "str") else code).view("u1")
    offsets = np.arange(rows + 1).view("u1") if code == "str" else None
    valid = made.choose.choice((None, np.ones(1, "u1")))
    return tuple(made.nearly(code, data, offsets, valid, 0, 0))


EVENT_SETTINGS = resolve({}, 1, {}).native() | {
    "workers": 1,
    "progress": "thread",
    "is_mapped": False,
    "spin_us": 0,
    "send_timeout_s": 0.1,
}


def _event_settings(made: Arguments) -> Any:
    key = made.choose.choice(sorted(EVENT_SETTINGS))
    return EVENT_SETTINGS | {key: made.choose.choice((EVENT_SETTINGS[key], made.number(), 1e18))}


NAMED: dict[str, tuple[Callable[[Arguments], Any], ...]] = {
    "source": (Arguments.data, lambda made: CSV, lambda made: CSV, lambda made: MTX),
    "index": (_object_of("CsvIndex"),),
    "out": (_array_of("f8", "i8", "u1"),),
    "data": (_array_of("f8", "i8", "u1"), Arguments.data, Arguments.value),
    "buffer": (_array_of("f8", "i8", "u1"), Arguments.data),
    "code": (Arguments.code, lambda made: made.choose.choice(CODES)),
    "codes": (lambda made: [made.choose.choice((*CODES, "b1", "str")) for _ in range(2)],),
    "columns": (Arguments.size, lambda made: [_column(made) for _ in range(2)]),
    "delimiter": (lambda made: 44,),
    "threads": (Arguments.size,),
    "workers": (Arguments.size, lambda made: [made.number()]),
    "start": (Arguments.size, lambda made: 0),
    "stop": (Arguments.size,),
    "skip": (Arguments.size, lambda made: 0),
    "rows": (Arguments.size, lambda made: CSV),
    "places": (Arguments.size,),
    "width": (Arguments.size, lambda made: None),
    "decimals": (Arguments.size, lambda made: None),
    "shape": (lambda made: (made.size(), made.size()),),
    "cells": (Arguments.size,),
    "values": (Arguments.size,),
    "positions": (lambda made: made.choose.random() < 0.5,),
    "offset": (Arguments.size,),
    "unit": (Arguments.size,),
    "path": (lambda made: "file", lambda made: ".", lambda made: "missing"),
    "parent": (lambda made: "folder", lambda made: "missing"),
    "offsets": (_list_of(5), lambda made: [0, *_list_of(4)(made)], lambda made: None),
    "weights": (_list_of(5), lambda made: np.ones(5, "i8").tobytes()),
    "owners": (_list_of(5), lambda made: np.ones(5, "i8").tobytes()),
    "shares": (_list_of(3),),
    "moves": (lambda made: [tuple(_list_of(4)(made)) for _ in range(3)],),
    "node_of": (_list_of(9),),
    "may_stay": (lambda made: [True] * made.choose.randrange(6), lambda made: None),
    "before": (_object_of("RowBlocks"), _object_of("RowRuns"), _list_of(5)),
    "after": (_object_of("RowBlocks"), _object_of("RowRuns"), _list_of(5)),
    "place_of": (_list_of(4),),
    "becomes": (_list_of(3), lambda made: [0, None, 1]),
    "blocks": (_object_of("RowBlocks"),),
    "settings": (_event_settings,),
    "arena": (lambda made: 1 << 16, Arguments.number),
    "ranks": (Arguments.size,),
    "rank": (Arguments.size, lambda made: 0),
    "fd": (
        Arguments.size,
        lambda made: getattr(made.of_class(_native.events.EventMemory), "fd", -1),
    ),
    "on": (lambda made: [(made.choose.choice((0, -1, -2, -3, made.number())), "id")],),
    "target": (lambda made: made.choose.choice((0, -1, -2, [0], made.number())),),
    "id": (lambda made: "id", Arguments.text),
    "label": (lambda made: "label", Arguments.text),
    "name": (lambda made: "name", Arguments.text, lambda made: None),
    "function": (lambda made: len, lambda made: 0, Arguments.number),
    "futures": (lambda made: [made.of_class(_native.manager.FutureBase)], lambda made: []),
    "future": (_object_of("FutureBase"),),
    "options": (_object_of("Options"),),
    "arity": (Arguments.size,),
    "timeout": (lambda made: 0.01,),
    "identity": (lambda made: ("", ""), lambda made: None),
    "address": (lambda made: "127.0.0.1:0", Arguments.text),
    "policy": (lambda made: made.choose.choice(("default", "interleave", "local", "preferred")),),
    "nbytes": (Arguments.size,),
    "days": (Arguments.size,),
    "value": (Arguments.value,),
}
"""What parameters take, by their names: one of these."""

TOGETHER: dict[str, Callable[[Arguments, str], list[Any]]] = {
    "run_pipeline": lambda made, name: made.pipeline(),
    "csr_panel": lambda made, name: made.csr_panel(),
    "csr_product": lambda made, name: made.csr_product(),
    "csr_product_sizes": lambda made, name: made.csr_product_sizes(),
    "csr_transpose": lambda made, name: made.csr_transpose(),
    "coo_merge": Arguments.coo_arguments,
    "coo_transpose": Arguments.coo_arguments,
    "coo_reduce": Arguments.coo_arguments,
    "coo_offsets": Arguments.coo_arguments,
    "copy_rows": Arguments.copied,
    "copy_triangle": Arguments.copied,
    "map_one": Arguments.each,
    "map_two": Arguments.each,
    "Drawing": Arguments.drawn,
    "sample": Arguments.drawn,
}
"""Functions whose arguments have to fit each other to get anywhere."""
