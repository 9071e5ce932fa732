"""The public names are few, sorted and there."""

from types import ModuleType

import freestone


def test_public_names_are_sorted() -> None:
    assert list(freestone.__all__) == sorted(freestone.__all__)


def test_public_names_are_at_most_forty() -> None:
    assert len(freestone.__all__) <= 40


def test_public_names_can_be_had() -> None:
    assert [name for name in freestone.__all__ if not hasattr(freestone, name)] == []


def test_nothing_else_of_ours_is_public() -> None:
    public = {name: value for name, value in vars(freestone).items() if not name.startswith("_")}
    ours = {name for name, value in public.items() if is_ours(value)}
    assert ours - set(freestone.__all__) == set()


def is_ours(value: object) -> bool:
    module = getattr(value, "__module__", None) or ""
    return not isinstance(value, ModuleType) and module.split(".")[0] == "freestone"
