from __future__ import annotations

import io
import sys
import threading
from typing import Any

import pytest

from freestone.observe import progress as progress_module
from freestone.observe.figures import Statistics, WorkerFigures, WorkerStatus
from freestone.observe.progress import Progress, progress


class FakeFuture:
    def __init__(self, status: str = "pending") -> None:
        self.status = status

    def done(self) -> bool:
        return self.status != "pending"


class FakeBar:
    """Keeps what is shown and tells when a wanted figure is."""

    def __init__(self) -> None:
        self.shown: list[tuple[int, int, int, str]] = []
        self.closed = 0
        self.changed = threading.Condition()

    def show(self, done: int, failed: int, total: int, words: str) -> None:
        with self.changed:
            self.shown.append((done, failed, total, words))
            self.changed.notify_all()

    def close(self) -> None:
        self.closed += 1

    def wait_for(self, done: int, failed: int) -> None:
        with self.changed:
            assert self.changed.wait_for(
                lambda: bool(self.shown) and self.shown[-1][:2] == (done, failed), timeout=30
            )


def over(futures: list[FakeFuture], bar: FakeBar) -> Progress[Any]:
    stand_ins: Any = futures
    return Progress(progress_module._FutureSample(stand_ins), bar, stand_ins, period_s=0.001)


def watching() -> bool:
    """Whether a thread follows some work."""
    return any(thread.name == "freestone-progress" for thread in threading.enumerate())


def test_a_bar_follows_futures_and_ends() -> None:
    futures, bar = [FakeFuture() for _ in range(4)], FakeBar()
    with over(futures, bar):
        bar.wait_for(0, 0)
        futures[1].status = "done"
        bar.wait_for(1, 0)
        futures[0].status, futures[2].status = "failed", "cancelled"
        bar.wait_for(1, 2)
        futures[3].status = "done"
    assert bar.shown[-1] == (2, 2, 4, "")
    assert bar.closed == 1
    assert not watching()


def test_a_bar_ends_when_the_work_raises() -> None:
    bar = FakeBar()
    with pytest.raises(ZeroDivisionError), over([FakeFuture()], bar):
        raise ZeroDivisionError
    assert bar.closed == 1


def test_a_bar_whose_cluster_is_gone_ends_quietly() -> None:
    bar = FakeBar()
    looked = threading.Event()

    def sample() -> tuple[int, int, int, str]:
        looked.set()
        raise RuntimeError("closed")

    with Progress[Any](sample, bar, period_s=0.001):
        assert looked.wait(30)
    assert bar.closed == 1


def test_a_cluster_is_counted_from_where_it_was() -> None:
    worker = WorkerFigures(worker="worker-0", status=WorkerStatus(running=2))
    figures = iter(
        [
            Statistics(done=10, answered=1, failed=1),
            Statistics(done=12, answered=2, failed=2, waiting=3, assigned=1, workers=(worker,)),
        ]
    )
    sample = progress_module._ClusterSample(lambda: next(figures))
    assert sample() == (3, 1, 8, "2 running on 1 worker")


def test_nothing_is_shown_when_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    futures: Any = [FakeFuture("done")]
    with progress(futures):
        assert not watching()
    assert capfd.readouterr() == ("", "")


def test_iterating_gives_the_futures_as_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    futures: Any = [FakeFuture("done"), FakeFuture("done")]
    monkeypatch.setattr(progress_module, "_as_completed", reversed)
    assert list(progress(futures)) == futures[::-1]


def test_without_rich_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    futures: Any = [FakeFuture("done")]
    with progress(futures, visible=True):
        assert not watching()


def test_rich_draws_counts_and_words() -> None:
    console = pytest.importorskip("rich.console")
    from freestone.observe.rich_bar import RichBar

    file = io.StringIO()
    bar = RichBar(console.Console(file=file, force_terminal=True, width=100), "[mass]")
    bar.show(1, 0, 4, "")
    bar.show(2, 1, 4, "2 running")
    bar.close()
    text = file.getvalue()
    assert "[mass]" in text
    assert "3/4" in text
    assert "1 failed · 2 running" in text
    assert text.endswith(("\n", "\x1b[?25h"))
