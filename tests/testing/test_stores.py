"""The stores of the package pass the kit, and those that are wrong do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from freestone.errors import PluginError
from freestone.io.stores import locate
from freestone.io.stores.posix import PosixLocation
from freestone.testing import check_store
from tests.extend.installing import EXAMPLES, add_metadata


def test_files_of_this_machine_pass(tmp_path: Path) -> None:
    check_store(str(tmp_path))


def test_files_of_fsspec_pass() -> None:
    fsspec = pytest.importorskip("fsspec")
    check_store("memory://kit")
    assert fsspec.filesystem("memory").find("/kit") == []


MISTAKES = {
    "offset + 1, nbytes)": ("offset, nbytes)", "bytes 0:5000 of its source are others"),
    "length(content), version": ("length(content), 1", "the stamp of another version is the same"),
    "SqliteLocation(self.url + suffix)": ("self", "beside...meta.. is called 'file.bin'"),
    "raise FileNotFoundError(self.url)\n        return tuple": (
        "return ()\n        return tuple",
        "no OSError",
    ),
    "self.write_bytes(Path(path).read_bytes())": ("pass", "does not begin with 5000"),
    "    def upload": (
        "    random = True\n\n    def upload",
        "random is True, and create.. returns no draft",
    ),
    "DELETE FROM files WHERE name": ("DELETE FROM files WHERE version", "that was removed exists"),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_is_found(site: Path, number: int) -> None:
    right, (wrong, problem) = list(MISTAKES.items())[number]
    source = (EXAMPLES / "store" / "freestone_sqlite.py").read_text()
    assert source.count(right) == 1
    module = f"wrong_sqlite_{number}"
    (site / f"{module}.py").write_text(source.replace(right, wrong))
    add_metadata(site, module, {"freestone.stores": {"sqlite": f"{module}:SqliteLocation"}})
    folder = f"sqlite://{site}/files.db/folder"
    locate(f"{folder}/file.bin").write_bytes(b"of an earlier run")
    with pytest.raises(AssertionError, match=problem):
        check_store(folder)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("7", r"can't be called; it has to be a function of a URL"),
        ("str", r"returns what is of type str; it has to return a FileLocation"),
    ],
)
def test_what_makes_no_place_is_refused(site: Path, value: Any, problem: str) -> None:
    module = f"wrong_store_{value}"
    (site / f"{module}.py").write_text(f"STORE = {value}")
    add_metadata(site, module, {"freestone.stores": {"odd": f"{module}:STORE"}})
    with pytest.raises(PluginError, match=problem):
        locate("odd://x")


def test_a_store_that_removes_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PosixLocation, "remove", lambda self: None)
    with pytest.raises(AssertionError, match="a file that was removed exists"):
        check_store(str(tmp_path))
