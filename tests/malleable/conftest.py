"""The C library of malleability, for all tests here, and when its build counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.malleable.clibrary import prefix

__all__ = ["prefix"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of programs in C all of their time: building those may take minutes, once."""
    for item in items:
        if item.path.parent == HERE and "prefix" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(func_only=True))
