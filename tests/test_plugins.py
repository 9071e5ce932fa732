"""What other packages offer by entry points is found, or refused with their names."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import freestone as fs
from freestone import plugins
from freestone.cluster import Cluster
from freestone.errors import FormatError, PluginError, UsageError
from freestone.hosts.engine import make_host
from freestone.io import Dataset, Format, Shape, Writer, open_dataset
from freestone.io.formats import format_of
from freestone.io.stores import FileLocation, locate
from freestone.partitions.placement import placement_of
from tests.extend.installing import add_metadata

GROUP = "freestone.formats"
MODULE = """
from freestone.hosts.engine import make_host
from freestone.io import Format

LOUD = Format(name="loud", suffixes=(".loud",), open_dataset=print)
QUIET = Format(name="quiet", suffixes=(".quiet", ".loud"), open_dataset=print)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def offer(site: Path, name: str, **formats: str) -> None:
    """Lay out a package that offers formats, each at a place in its module."""
    module = name.replace("-", "_")
    (site / f"{module}.py").write_text(MODULE)
    add_metadata(site, name, {GROUP: {key: f"{module}:{at}" for key, at in formats.items()}})


def test_a_format_is_found_by_name_and_by_suffix(site: Path) -> None:
    offer(site, "plugin-one", loud="LOUD")
    assert plugins.names(GROUP) == ["loud"]
    assert format_of("x.LOUD").name == format_of("x", "loud").name == "loud"


def test_a_package_that_is_broken_is_named(site: Path) -> None:
    add_metadata(site, "plugin-broken", {GROUP: {"odd": "plugin_missing:FORMAT"}}, "2.7")
    with pytest.raises(PluginError) as caught:
        format_of("x", "odd")
    assert str(caught.value) == (
        "'odd' of plugin-broken 2.7 (entry point odd = plugin_missing:FORMAT in "
        "freestone.formats) can't be imported: No module named 'plugin_missing' "
        "(ModuleNotFoundError); mend or uninstall it"
    )


def test_a_package_that_is_broken_holds_no_other_up(site: Path) -> None:
    add_metadata(site, "plugin-also-broken", {GROUP: {"odd": "plugin_absent:FORMAT"}})
    offer(site, "plugin-two", loud="LOUD")
    assert format_of("x.loud").name == "loud"
    with pytest.raises(UsageError, match=r"end it in \.csv .* \.loud") as caught:
        format_of("x.none")
    assert "plugin-also-broken 1.0" in caught.value.__notes__[0]


def test_what_is_no_format_is_refused(site: Path) -> None:
    offer(site, "plugin-three", list="MODULE_NAME")
    (site / "plugin_three.py").write_text("MODULE_NAME = 7")
    with pytest.raises(PluginError, match=r"plugin-three 1.0 .* is of type int; .* a Format"):
        format_of("x", "list")


def test_another_name_than_that_of_the_entry_point_is_refused(site: Path) -> None:
    offer(site, "plugin-four", other="LOUD")
    with pytest.raises(PluginError, match=r"plugin-four 1.0 .* is a format called 'loud'"):
        format_of("x", "other")


def test_two_packages_with_one_name_are_refused(site: Path) -> None:
    offer(site, "plugin-five", loud="LOUD")
    offer(site, "plugin-six", loud="LOUD")
    with pytest.raises(PluginError, match=r"is offered by plugin-five 1\.0 and plugin-six 1.0"):
        format_of("x.any", "loud")


def test_two_formats_with_one_suffix_are_named(site: Path) -> None:
    offer(site, "plugin-seven", loud="LOUD", quiet="QUIET")
    assert format_of("x.quiet").name == "quiet"
    with pytest.raises(UsageError, match="fits the formats loud and quiet; say which"):
        format_of("x.loud")


def test_an_unknown_name_lists_those_of_other_packages(site: Path) -> None:
    offer(site, "plugin-eight", loud="LOUD")
    with pytest.raises(UsageError, match=r"no format 'lout'; did you mean 'loud'.* root, loud"):
        format_of("x", "lout")


def test_nothing_is_offered_under_other_names(site: Path) -> None:
    assert plugins.load("freestone.nothing", "x", Format) is None


def test_nothing_looks_for_packages_at_the_start() -> None:
    code = (
        "import sys, freestone; assert freestone.read and freestone.Cluster;"
        "assert not {'importlib.metadata', 'freestone.testing'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_host_lists_those_of_other_packages(site: Path) -> None:
    add_metadata(site, "plugin-nine", {"freestone.hosts": {"grid": "plugin_nine:Host"}})
    with pytest.raises(UsageError, match=r"no host 'gird' .* did you mean 'grid'.* offer grid"):
        make_host("gird", {})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("7", r"plugin-ten 1.0 .* can't be called; it has to be a function of its options"),
        ("lambda: 7", r"plugin-ten 1.0 .* returns what is of type int; it has to return a Host"),
    ],
)
def test_what_makes_no_host_is_refused(site: Path, value: str, problem: str) -> None:
    module = f"plugin_ten_{len(value)}"
    (site / f"{module}.py").write_text(f"HOST = {value}")
    add_metadata(site, "plugin-ten", {"freestone.hosts": {"odd": f"{module}:HOST"}})
    with pytest.raises(PluginError, match=problem):
        make_host("odd", {})


def test_a_format_that_opens_nothing_is_named(site: Path) -> None:
    offer(site, "plugin-empty", loud="LOUD")
    (site / "x.loud").write_bytes(b"1")
    with pytest.raises(PluginError, match=r"'loud' of plugin-empty .* has to return a Dataset"):
        open_dataset(site / "x.loud")


def test_what_is_no_name_of_a_format_or_host_is_refused() -> None:
    with pytest.raises(UsageError, match="format=3: give the name of a format"):
        format_of("x.npy", 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"Cluster.on\(3\): give the name of a host"):
        make_host(3, {})  # type: ignore[arg-type]


class Deaf:
    name = "deaf"

    def listen(self) -> Any:
        return 3

    def start(self, access: Any, config: Any) -> None:
        raise NotImplementedError

    def joining(self) -> int:
        return 0

    def close(self) -> None:
        pass


def test_what_is_no_host_is_refused() -> None:
    with pytest.raises(UsageError, match="is of type object; a host has name, listen"):
        Cluster(host=object())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"listen\(\) of the host 'deaf' returns 3; it has to"):
        Cluster(host=Deaf())


def test_a_class_is_no_placement() -> None:
    class Mine:
        def place(self, nbytes: Any, holders: Any, slots: Any) -> Any:
            raise NotImplementedError

    with pytest.raises(TypeError, match="give an object with a method place"):
        placement_of(Mine)  # type: ignore[arg-type]


class Listed(Dataset):
    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        return [1.0] * (stop - start)


def test_rows_that_are_no_array_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    location = locate(tmp_path / "x")
    listed = Listed(location=location, kind="array", rows=2, columns=(), stamp=location.stamp())
    with pytest.raises(FormatError, match="reads rows as what is of type list; an array"):
        listed.read(0, 2)


@dataclass(frozen=True, kw_only=True)
class Bytes(Writer):
    promised: Any = None
    given: Any = (b"12345678",)
    begin: Any = b"head"

    def sizes(self, rows: int) -> Any:
        return self.promised

    def encode(self, block: Any, start: int) -> Any:
        return list(self.given)

    def head(self, nbytes: Any) -> Any:
        return self.begin(nbytes) if callable(self.begin) else self.begin


WRONG = [
    (
        Bytes,
        {"promised": [7]},
        r"encode\(\) of 1 rows .* gives \[8\] .* sizes\(1\) says \[7\]",
    ),
    (Bytes, {"promised": [4, 4]}, r"Bytes.sizes\(1\) gives \[4, 4\]; .* a list of 1 section, or"),
    (Bytes, {"promised": 8}, r"Bytes.sizes\(1\) gives 8; it has to be a list of 1 section"),
    (Bytes, {"given": (b"1", b"2")}, r"Bytes.encode\(\) .* gives 2 pieces; there are 1 section"),
    (Bytes, {"given": ("text",)}, r"Bytes.encode\(\) .* gives what is of type str, and no bytes"),
    (Bytes, {"begin": "head"}, r"Bytes.head\(\) gives what is of type str, and no bytes"),
]


@pytest.mark.parametrize(("kind", "given", "problem"), WRONG)
def test_a_writer_that_contradicts_itself_writes_no_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Any,
    given: dict[str, Any],
    problem: str,
) -> None:
    def make(location: FileLocation, shape: Shape) -> Writer:
        made: Writer = kind(location=location, shape=shape, **given)
        return made

    odd = Format(name="odd", suffixes=(".odd",), open_dataset=print, open_writer=make)
    monkeypatch.setattr("freestone.io.opening.format_of", lambda *_: odd)
    path = tmp_path / "x.odd"
    path.write_bytes(b"kept")
    with pytest.raises(FormatError, match=problem):
        fs.write(fs.Array.from_numpy(np.arange(2.0), 1), path)
    assert path.read_bytes() == b"kept"
    assert [each.name for each in tmp_path.iterdir()] == ["x.odd"]


def test_a_head_that_grows_is_refused_where_workers_have_written_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: fs.Cluster
) -> None:
    def make(location: FileLocation, shape: Shape) -> Writer:
        return Bytes(location=location, shape=shape, begin=lambda nbytes: b"h" * (1 + len(nbytes)))

    odd = Format(name="odd", suffixes=(".odd",), open_dataset=print, open_writer=make)
    monkeypatch.setattr("freestone.io.opening.format_of", lambda *_: odd)
    with pytest.raises(FormatError, match=r"head\(\[16\]\) has 2 bytes, and head\(\[\]\) had 1"):
        fs.write(fs.Array.from_numpy(np.arange(2.0), 1), tmp_path / "x.odd")
    assert not any(tmp_path.iterdir())


class Given(Dataset):
    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        table = pa.table({"b": np.zeros(stop - start)})
        return table if self.kind == "frame" else np.zeros((stop - start, 3), "f4")


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        (
            {"kind": "frame", "columns": ("a",)},
            r"Given.read_rows\(\) gives Table of columns \('b',\); .* columns \('a',\)",
        ),
        ({"kind": "array", "columns": (2,)}, r"columns \(3,\) .*; .* columns \(2,\)"),
        (
            {"kind": "array", "columns": (3,), "dtype": "<f8"},
            r"dtype float32; .* dtype float64",
        ),
    ],
)
def test_rows_that_are_not_as_their_dataset_says_are_refused(
    tmp_path: Path, declared: dict[str, Any], problem: str
) -> None:
    (tmp_path / "x").write_bytes(b"1")
    location = locate(tmp_path / "x")
    with pytest.raises(FormatError, match=problem):
        Given(location=location, rows=2, stamp=location.stamp(), **declared).read(0, 2)
