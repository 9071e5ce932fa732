"""Packages that calls bring along: what is imported with each of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from freestone import functions
from freestone.functions import Package, Packages

Make = Callable[[str, str, str], Package]


@pytest.fixture(autouse=True)
def _leave() -> Iterator[None]:
    before = list(sys.path)
    yield
    functions.enter((), str)
    assert sys.path == before


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a package of one module; its folder is named by its key."""

    def package(key: str, name: str, text: str) -> Package:
        folder = tmp_path / key
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        return Package(str(folder), (name,))

    return package


def enter(*entered: Package) -> None:
    functions.enter(entered, lambda package: package.key)


def test_imports_find_the_packages_of_the_call(make: Make) -> None:
    one = make("one", "packaged_number", "n = 1")
    two = make("two", "packaged_number", "n = 2")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("packaged_number")
    enter(one)
    assert functions.folders() == [one.key]
    first = importlib.import_module("packaged_number")
    enter(two)
    assert importlib.import_module("packaged_number").n == 2
    enter(one)
    # It is the same module, with all that was done to it.
    assert importlib.import_module("packaged_number") is first
    enter(two, one)
    assert importlib.import_module("packaged_number").n == 2
    enter()
    assert "packaged_number" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("packaged_number")


def test_what_imports_one_of_them_is_executed_for_each(make: Make) -> None:
    one = make("one", "packaged_base", "n = 1")
    two = make("two", "packaged_base", "n = 2")
    user = make("user", "packaged_user", "import packaged_base\nn = packaged_base.n * 10")
    enter(one, user)
    assert importlib.import_module("packaged_user").n == 10
    enter(two, user)
    assert importlib.import_module("packaged_user").n == 20
    enter(one, user)
    assert importlib.import_module("packaged_user").n == 10


def test_what_can_not_be_had_changes_nothing(make: Make) -> None:
    one = make("one", "packaged_number", "n = 1")
    enter(one)

    def fail(package: Package) -> str:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        functions.enter((Package("other", ("packaged_other",)),), fail)
    assert functions.entered() == (one,)
    assert importlib.import_module("packaged_number").n == 1


def test_a_function_with_packages_is_another_one() -> None:
    plain = functions.encode(len)
    some: Packages = (Package("a", ("x",)),)
    other = plain.with_packages(some)
    assert plain.name != other.name != plain.with_packages((Package("b", ("x",)),)).name
    assert other.name == plain.with_packages((Package("a", ("y",)),)).name
    assert functions.unwrapped(plain.definition) == ((), plain.definition)
    found, definition = functions.unwrapped(other.definition)
    assert (found, definition) == (some, plain.definition)
    assert functions.unwrapped(other.definition)[0] is found
    assert functions.load(definition)([1]) == 1
