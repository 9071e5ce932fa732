from __future__ import annotations

import argparse
import dataclasses
import dis
import inspect
import json.decoder
import typing
from types import CodeType, ModuleType

import pytest

from freestone.functions.scan import Import, code_digest, scan


def by_dis(code: CodeType) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    imports: set[str] = set()
    parts = [code]
    while parts:
        part = parts.pop()
        parts += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
        for instruction in dis.get_instructions(part):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                names.add(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                imports.add(instruction.argval)
    return names, imports


@pytest.mark.parametrize("module", [argparse, dataclasses, inspect, json.decoder, typing])
def test_the_bytes_are_read_as_dis_reads_them(module: ModuleType) -> None:
    with open(module.__file__ or "") as file:
        code = compile(file.read(), "x", "exec")
    found = scan(code)
    assert (set(found.globals), {entry.name for entry in found.imports}) == by_dis(code)


def test_attributes_and_imports_are_reported() -> None:
    code = compile(
        "def f(x):\n"
        "    from a.b import c, d\n"
        "    from .. import e\n"
        "    import g.h\n"
        "    return m.x.y(m.z), [k.l for _ in x], m\n",
        "x",
        "exec",
    )
    found = scan(code)
    assert set(found.globals["m"]) == {("x", "y"), ("z",), ()}
    assert found.globals["k"] == (("l",),)
    assert found.imports == (
        Import("a.b", 0, ("c", "d")),
        Import("", 2, ("e",)),
        Import("g.h", 0, ()),
    )


def test_long_functions_are_read_through() -> None:
    body = "\n".join(f"    name{k}.attr{k}()" for k in range(600))
    found = scan(compile(f"def f():\n{body}", "x", "exec"))
    assert len(found.globals) == 600
    assert found.globals["name599"] == (("attr599",),)


def test_a_digest_is_of_what_the_code_does() -> None:
    one = compile("f = lambda x: x in {'a', 'b'}", "one.py", "exec")
    two = compile("\n\nf = lambda x:  x in {'b', 'a'} # c", "two.py", "exec")
    assert code_digest(one) == code_digest(two)
    assert len(code_digest(one)) == 16
