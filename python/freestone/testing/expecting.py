"""How kits say what is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["expect", "expect_equal", "expecting_no_error"]


def expect(condition: Any, problem: str) -> None:
    """Raise `AssertionError` unless a condition holds, also where ``assert`` is switched off."""
    if not condition:
        raise AssertionError(problem)


@contextlib.contextmanager
def expecting_no_error(what: str) -> Iterator[None]:
    """Raise `AssertionError` that names what was done when anything else is raised."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def expect_equal(found: Any, wanted: Any, what: str) -> None:
    """Raise `AssertionError` unless two arrays, sparse arrays or tables are equal, types too."""
    if hasattr(wanted, "schema"):
        is_equal = hasattr(found, "schema") and _as_lists(found) == _as_lists(wanted)
        return expect(is_equal, f"{what} are {found!r}, and {wanted!r} was wanted")
    if hasattr(wanted, "toarray"):
        expect(hasattr(found, "toarray"), f"{what} are dense; a sparse array was wanted")
        found, wanted = found.toarray(), wanted.toarray()
    expect(isinstance(found, np.ndarray), f"{what} are a {type(found).__name__}, and no array")
    expect(found.shape == wanted.shape, f"{what}: shape {found.shape}, wanted {wanted.shape}")
    expect(found.dtype == wanted.dtype, f"{what}: dtype {found.dtype}, wanted {wanted.dtype}")
    is_same = np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")
    return expect(is_same, f"{what} are {found!r}, and {wanted!r} was wanted")


def _as_lists(table: Any) -> list[tuple[str, Any, list[Any]]]:
    """Return names, types and values; whether a value may be missing is the file's business."""
    schema = table.schema
    return [(each.name, each.type, table[each.name].to_pylist()) for each in schema]
