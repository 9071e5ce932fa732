"""The public names are few, sorted and there."""

from types import ModuleType

import freestone


def test_public_names_are_sorted() -> None:
    assert list(freestone.__all__) == sorted(freestone.__all__)


def test_public_names_are_at_most_forty() -> None:
    assert len(freestone.__all__) <= 40


def test_public_names_can_be_had() -> None:
    assert [name for name in freestone.__all__ if not hasattr(freestone, name)] == []


def test_nothing_else_is_public() -> None:
    bound = {name: value for name, value in vars(freestone).items() if not name.startswith("_")}
    modules = {name for name, value in bound.items() if isinstance(value, ModuleType)}
    assert set(bound) - modules - set(freestone.__all__) == set()
