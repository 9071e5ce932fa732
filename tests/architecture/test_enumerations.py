"""Names that stand in Rust and in Python are the same, and each failure has its error."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

import freestone
from freestone import _native
from freestone.enumerations import ENGINE_BINARY, ENGINE_CELLS, ENGINE_UNARY, FAILURE_KINDS
from freestone.errors import FreestoneError
from freestone.errors.failures import error_of
from freestone.lang.front.types.scalars import BINARY, UNARY
from freestone.lang.front.types.types import CODES, DTYPES
from tests.architecture import enumerations

PYPROJECT = enumerations.WRITTEN.parents[2] / "pyproject.toml"
CARGO = enumerations.WRITTEN.parents[2] / "Cargo.toml"


def test_the_enumerations_are_those_of_the_native_module() -> None:
    current = enumerations.WRITTEN.read_text(encoding="utf-8")
    assert current == enumerations.text(), "run python -m tests.architecture.enumerations"


def test_the_engine_has_the_language_s_operations_and_types_only() -> None:
    assert set(ENGINE_BINARY) <= set(BINARY)
    assert set(ENGINE_UNARY) <= set(UNARY)
    assert {CODES[cell] for cell in ENGINE_CELLS} == set(range(len(ENGINE_CELLS)))
    assert set(CODES) <= set(DTYPES)


# What all failures have, and what belongs to their kinds, together.
FAILURE: dict[str, Any] = {
    "label": "f",
    "name": "0" * 32,
    "worker": "worker-1",
    "attempts": 1,
    "kills": 3,
    "signal": 9,
    "status": None,
    "timeout_s": 1.0,
    "limit": 1,
    "needs": {"cores": 2, "gpus": 0, "memory": 0, "disk": 0},
    "largest": {"cores": 1, "gpus": 0, "memory": 0, "disk": 0},
    "absent": "worker-1",
    "gone_s": None,
    "present": [],
    "input": "0" * 32,
    "needed": 2,
    "free": 1,
    "folder": "/folder",
    "path": "/file",
    "reason": "another size",
    "nbytes": 2,
    "is_result": True,
    "pickled": b"",
    "type": "KeyError",
    "message": "no",
    "traceback": "",
    "in_encoding": False,
}


@pytest.mark.parametrize("kind", FAILURE_KINDS)
def test_each_failure_has_an_error_of_its_own(kind: str) -> None:
    error = error_of({**FAILURE, "kind": kind})
    assert isinstance(error, FreestoneError)
    others = [error_of({**FAILURE, "kind": other}) for other in FAILURE_KINDS if other != kind]
    assert type(error) is not FreestoneError
    assert type(error) not in map(type, others)


def test_a_failure_that_nobody_knows_is_refused() -> None:
    with pytest.raises(AssertionError, match="evaporated"):
        error_of({**FAILURE, "kind": "evaporated"})


def test_there_is_one_version() -> None:
    version = tomllib.loads(CARGO.read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert freestone.__version__ == _native.__version__ == version
    assert tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["dynamic"] == ["version"]
