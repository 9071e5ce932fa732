"""Bars of long reads and writes, and what they count."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.cli.main import main
from freestone.storage import meters

X = np.random.default_rng(1).normal(size=(40_000, 8))


class Bar:
    """Remembers what it is told."""

    made: list[Bar]

    def __init__(self, label: str, in_bytes: bool) -> None:
        self.label, self.shown, self.is_closed = label, list[tuple[int, int, int, str]](), False
        assert in_bytes

    def show(self, *reported: Any) -> None:
        self.shown.append(reported)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    made: list[Bar] = []

    def make(label: str, *, in_bytes: bool = False) -> Bar:
        made.append(Bar(label, in_bytes))
        return made[-1]

    monkeypatch.setattr(meters, "make_bar", make)
    monkeypatch.setattr(meters, "LONG_S", 0)
    return made


@pytest.mark.parametrize("kind", ["csv", "dbdf", "npy"])
def test_bytes_are_counted_here(bars: list[Bar], tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"m.{kind}"
    fs.write(X, path, progress=True)
    fs.read(path, progress=True)
    assert [bar.label for bar in bars] == [f"write m.{kind}", f"read m.{kind}"]
    for bar in bars:
        done, failed, total, _ = bar.shown[-1]
        # A read has seen the head before.
        assert done >= X.nbytes
        assert (failed, total) == (0, max(done, total))
        assert total <= 2 * path.stat().st_size
        assert bar.is_closed


@pytest.mark.parametrize("kind", ["csv", "dbdf", "mtx"])
def test_bytes_are_counted_there(
    bars: list[Bar], two_workers: fs.Cluster, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"m.{kind}"
    fs.write(fs.Array.from_numpy(X, 9_000), path, progress=True)
    head = {"csv": 0, "dbdf": 45}.get(kind) or path.read_bytes().index(b"8\n") + 2
    ((done, failed, total, _),) = bars[0].shown[-1:]
    assert (failed, total) == (0, done)
    assert done == path.stat().st_size - (0 if kind == "csv" else head)


@pytest.mark.parametrize("is_there", [False, True])
def test_folders_of_files_count_the_bytes_of_blocks(
    bars: list[Bar], tmp_path: Path, is_there: bool
) -> None:
    with fs.Cluster(executors=1) if is_there else contextlib.nullcontext():
        frame = fs.Frame.from_table({"k": np.arange(40_000) % 3, "x": X[:, 0]}, 9_000)
        nbytes = frame.nbytes
        fs.write(frame, tmp_path / "t", partition_by="k", progress=True)
    assert (bars[0].label, bars[0].shown[-1][:3]) == ("write t", (nbytes, 0, nbytes))


@pytest.mark.parametrize("kind", ["csv", "dbdf", "parquet"])
def test_reads_of_workers_are_shown_while_one_waits(
    bars: list[Bar], two_workers: fs.Cluster, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"m.{kind}"
    fs.write(X, path)
    array = fs.read(path, block_rows=9_000, progress=True)
    assert not bars
    array.persist()
    assert [bar.label for bar in bars] == [f"read m.{kind}"]
    nbytes = path.stat().st_size
    assert bars[0].shown[-1] == (nbytes, 0, nbytes, "")
    assert bars[0].is_closed
    np.testing.assert_array_equal(array.compute(), X)
    array.drop()
    assert len(bars) == 2


@pytest.mark.parametrize("kind", ["parquet", "arrow", "zarr", "tdms", "root"])
@pytest.mark.parametrize("by_workers", [False, True])
def test_what_libraries_write_is_counted(
    bars: list[Bar], two_workers: fs.Cluster, tmp_path: Path, kind: str, by_workers: bool
) -> None:
    path = tmp_path / f"m.{kind}"
    given: Any = fs.Array.from_numpy(X, 9_000) if by_workers else X
    fs.write(given, path, progress=True)
    done, failed, total, _ = bars[0].shown[-1]
    assert (failed, total) == (0, done)
    assert done == X.nbytes if kind == "zarr" else done > X.nbytes / 2
    fs.read(path, progress=True).persist()
    assert bars[1].shown[-1][0] > 0.9 * bars[1].shown[-1][2]


def test_sizes_that_only_the_results_tell() -> None:
    class Future:
        def __init__(self, status: str) -> None:
            self.status = status

        def result(self) -> int:
            return 300

    meter = meters.Meter()
    meter.add(Future("pending"))
    assert meter() == (0, 0, 0, "")
    for status in ("done", "done", "failed"):
        meter.add(Future(status))
    assert meter() == (600, 0, 1200, "")


def test_no_bar_without_a_terminal_or_when_it_is_short(
    bars: list[Bar], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meters, "shows_progress", lambda: False)
    fs.write(X, tmp_path / "m.csv")
    assert not bars
    monkeypatch.setattr(meters, "shows_progress", lambda: True)
    fs.write(X, tmp_path / "m.csv", progress=False)
    assert main(["convert", "--no-progress", str(tmp_path / "m.csv"), str(tmp_path / "n.npy")]) == 0
    assert not bars
    monkeypatch.setattr(meters, "LONG_S", 3600)
    fs.write(X, tmp_path / "m.csv")
    assert len(bars) == 1
    assert not bars[0].shown
    assert bars[0].is_closed


def test_no_bar_of_workers_without_a_terminal(
    bars: list[Bar], two_workers: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meters, "shows_progress", lambda: False)
    fs.write(fs.Array.from_numpy(X, 9_000), tmp_path / "m.csv")
    fs.read(tmp_path / "m.csv").persist()
    assert not bars
    monkeypatch.setattr(meters, "shows_progress", lambda: True)
    fs.read(tmp_path / "m.csv").persist()
    fs.read(tmp_path / "m.csv", progress=False).persist()
    assert [bar.label for bar in bars] == ["read m.csv"]


def test_the_bar_says_bytes_a_second() -> None:
    console = pytest.importorskip("rich.console")
    import io

    from freestone.observe.rich_bar import RichBar

    file = io.StringIO()
    bar = RichBar(console.Console(file=file, force_terminal=True, width=120), "x", in_bytes=True)
    bar.show(1_000_000, 0, 4_000_000, "")
    bar.show(4_000_000, 0, 4_000_000, "")
    bar.close()
    assert "4.0/4.0 MB" in file.getvalue()
