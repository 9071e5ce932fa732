"""What tasks print: whose it is, what is kept of it, and what is shown."""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
from typing import Any

import pytest

import freestone as fs
from freestone.errors import TaskKilledError, UsageError
from freestone.observe import logs
from freestone.observe.logs import Collector
from freestone.units import format_nbytes

LINE = "x" * 99 + "\n"
LAST_OF_TASK_NBYTES = 16 << 10


def speak(number: int) -> int:
    print("printed", number)
    print("to stderr", number, file=sys.stderr)
    logging.getLogger("freestone.test").warning("logged %d", number)
    os.write(1, b"written %d\n" % number)
    subprocess.run(["/bin/echo", "child", str(number)], check=True)
    print("no end of line", end="")
    return number


def short(number: int) -> None:
    print(number)


def print_in_c(number: int) -> None:
    ctypes.CDLL(None).printf(b"in C %d\n", number)


def crash() -> None:
    print("almost", end="")
    os.write(2, b"last words\n")
    os.abort()


def flood(lines: int) -> None:
    for _ in range(lines):
        sys.stdout.write(LINE)
    sys.stdout.write("the end")


def never_end() -> None:
    while True:
        sys.stdout.write(LINE)


def parent() -> None:
    print("parent")
    inner = fs.current()
    assert inner is not None
    inner.submit(print, "inner").result()


def streams(found: logs.Logs) -> dict[str, str]:
    texts: dict[str, str] = {}
    for piece in found:
        texts[piece.stream] = texts.get(piece.stream, "") + piece.text
    return texts


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_what_a_task_prints_is_its_own(cluster: fs.Cluster, isolation: Any) -> None:
    futures = [cluster.submit(speak, number, isolation=isolation, pure=False) for number in (1, 2)]
    for future in futures:
        number = future.result()
        found = cluster.logs(future)
        assert streams(found) == {
            "stdout": f"printed {number}\nwritten {number}\nchild {number}\nno end of line",
            "stderr": f"to stderr {number}\nlogged {number}\n",
        }
        assert {(piece.name, piece.label, piece.worker, piece.left_out) for piece in found} == {
            (future.name, "speak", "worker-0", 0)
        }


def test_short_calls_have_their_own_lines(cluster: fs.Cluster) -> None:
    futures = cluster.map(short, range(1000))
    cluster.gather(futures)
    assert [str(cluster.logs(future)) for future in futures] == [f"{n}\n" for n in range(1000)]


def test_c_code_prints_line_by_line(cluster: fs.Cluster) -> None:
    future = cluster.submit(print_in_c, 5)
    future.result()
    assert str(cluster.logs(future)) == "in C 5\n"


def test_tasks_that_print_nothing_have_no_log(cluster: fs.Cluster) -> None:
    future = cluster.submit(pow, 3, 5)
    assert future.result() == 243
    found = cluster.logs(future)
    assert (len(found), str(found)) == (0, "")
    assert "nothing was printed" in found._repr_html_()


def test_logs_by_worker(two_workers: fs.Cluster) -> None:
    for number in (0, 1):
        two_workers.submit(print, "at", number, worker=number).result()
    assert str(two_workers.logs(0)) == "at 0\n"
    assert str(two_workers.logs("worker-1")) == "at 1\n"
    assert sorted(str(two_workers.logs()).splitlines()) == ["at 0", "at 1"]
    with pytest.raises(TypeError, match="a future or a worker, not float"):
        two_workers.logs(0.5)  # type: ignore[arg-type]
    for unknown in ("worker-7", "nope", 7, -1):
        with pytest.raises(UsageError, match=r"no worker '.*'; there are: worker-0, worker-1"):
            two_workers.logs(unknown)


def test_a_crash_leaves_its_last_words(cluster: fs.Cluster) -> None:
    future = cluster.submit(crash)
    with pytest.raises(TaskKilledError):
        future.result()
    texts = streams(cluster.logs(future))
    assert texts["stdout"] == "almost" * 3, "it is tried three times"
    assert texts["stderr"].count("last words\nFatal Python error: Aborted") == 3
    assert "in crash" in texts["stderr"]


def test_of_a_flood_the_end_is_kept_and_the_rest_counted(cluster: fs.Cluster) -> None:
    lines = 20_000
    future = cluster.submit(flood, lines)
    future.result()
    found = cluster.logs(future)
    kept = sum(len(piece.text) for piece in found)
    assert kept + sum(piece.left_out for piece in found) == lines * len(LINE) + len("the end")
    assert kept <= logs.FIRST_NBYTES + logs.LAST_NBYTES + LAST_OF_TASK_NBYTES
    assert str(found).endswith(LINE + "the end")
    assert "left out]\n" in str(found)


def test_others_go_on_beside_a_task_that_prints_without_end(cluster: fs.Cluster) -> None:
    endless = cluster.submit(never_end)
    assert cluster.gather(cluster.map(pow, range(100), [2] * 100)) == [n**2 for n in range(100)]
    cluster.cancel(endless)
    assert str(cluster.submit(print, "after").result()) == "None"


def test_programs_see_what_their_own_tasks_print(cluster: fs.Cluster) -> None:
    with fs.connect(cluster.access) as other:
        theirs = other.submit(print, "theirs")
        ours = cluster.submit(print, "ours")
        assert (theirs.result(), ours.result()) == (None, None)
        assert str(other.logs(theirs)) == "theirs\n"
        assert str(cluster.logs(ours)) == "ours\n"
        assert "ours" not in str(other.logs())
        assert "theirs" not in str(cluster.logs())


def test_what_a_task_has_submitted_prints_for_it(cluster: fs.Cluster) -> None:
    future = cluster.submit(parent)
    future.result()
    assert str(cluster.logs(future)) == "parent\ninner\n"


@pytest.mark.parametrize(
    ("shown", "out", "err"),
    [("all", "printed\n", "wrong\n"), ("errors", "", "wrong\n"), ("none", "", "")],
)
def test_what_is_shown_is_a_setting(
    capsys: pytest.CaptureFixture[str], shown: str, out: str, err: str
) -> None:
    with fs.Cluster(executors=1, logs=shown, dashboard=False) as cluster:
        cluster.submit(print, "printed").result()
        cluster.submit(os.write, 2, b"wrong\n").result()
        assert str(cluster.logs()) == "printed\nwrong\n"
    assert capsys.readouterr() == (out, err)


Piece = tuple[str | None, str, int, bool, bool, bytes, int]


class FakeManager:
    """A manager whose tasks print what a test says."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.left_out = 0

    def print(
        self,
        text: bytes,
        *,
        name: str | None = "ab" * 16,
        left_out: int = 0,
        is_own: bool = True,
    ) -> None:
        self.pieces.append((name, "f", 3, is_own, False, text, left_out))

    def take_printed(self) -> tuple[list[Piece], int]:
        taken, self.pieces = (self.pieces, self.left_out), []
        self.left_out = 0
        return taken


@pytest.fixture
def manager() -> FakeManager:
    return FakeManager()


def collector(manager: FakeManager, shown: str = "none") -> Collector:
    return Collector(manager, shown)  # type: ignore[arg-type]


def test_of_a_task_the_beginning_and_the_end_are_kept(manager: FakeManager) -> None:
    collected = collector(manager)
    for number in range(300):
        manager.print(b"%03d" % number + b"." * 1020 + b"\n")
    found = collected.logs("ab" * 16)
    numbers = [int(piece.text[:3]) for piece in found]
    assert numbers == [*range(32), *range(300 - 96, 300)]
    assert [piece.left_out for piece in found][31:34] == [0, (300 - 128) * 1024, 0]


@pytest.mark.parametrize("lines", [1, 7, 640, 2000])
def test_so_much_is_kept_however_it_comes(manager: FakeManager, lines: int) -> None:
    """A worker reads as much at once as an executor's pipe holds, and more."""
    collected = collector(manager)
    text = "".join(f"{number:06d}{'.' * 93}\n" for number in range(2000))
    step = lines * 100
    for start in range(0, len(text), step):
        manager.print(text[start : start + step].encode())
    first, last = logs.FIRST_NBYTES // 100 * 100, logs.LAST_NBYTES // 100 * 100
    gap = f"[freestone: {format_nbytes(len(text) - first - last)} left out]\n"
    assert str(collected.logs("ab" * 16)) == text[:first] + gap + text[-last:]


def test_of_one_line_the_beginning_and_the_end_are_kept(manager: FakeManager) -> None:
    collected = collector(manager)
    manager.print(b"a" * (32 << 10) + b"b" * (200 << 10) + b"c" * (96 << 10))
    wanted = "a" * (32 << 10) + "\n[freestone: 200 KiB left out]\n" + "c" * (96 << 10)
    assert str(collected.logs("ab" * 16)) == wanted


def test_of_all_tasks_those_go_that_printed_longest_ago(manager: FakeManager) -> None:
    collected = collector(manager)
    for number in range(200):
        manager.print(b"x" * (100 << 10), name=f"{number:032x}")
    found = collected.logs()
    kept = logs.TOTAL_NBYTES // (100 << 10)
    numbers = dict.fromkeys(int(piece.name or "", 16) for piece in found)
    assert list(numbers) == list(range(200 - kept, 200))
    assert found.left_out == (200 - kept) * (100 << 10)
    assert str(found).startswith(f"[freestone: {format_nbytes(found.left_out)} left out]\n")


def test_what_came_too_fast_is_counted(
    manager: FakeManager, capsys: pytest.CaptureFixture[str]
) -> None:
    collected = collector(manager, "all")
    manager.left_out = 2048
    manager.print(b"late\n", left_out=1024)
    assert str(collected.logs("ab" * 16)) == "[freestone: 1 KiB left out]\nlate\n"
    assert capsys.readouterr() == (
        "[freestone: 1 KiB left out]\nlate\n",
        "[freestone: 2 KiB left out]\n",
    )


def test_tasks_do_not_share_a_line(
    manager: FakeManager, capsys: pytest.CaptureFixture[str]
) -> None:
    collected = collector(manager, "all")
    manager.print(b"a")
    manager.print(b"b\n")
    manager.print(b"c", name="cd" * 16)
    manager.print(b"\xff\n", name=None)
    assert str(collected.logs()) == "ab\nc\n\ufffd\n"
    assert capsys.readouterr().out == "ab\nc\n\ufffd\n"


def test_names_and_texts_are_no_html(manager: FakeManager) -> None:
    manager.print(b"<script>alert(1)</script>")
    assert "<script>" not in collector(manager).logs()._repr_html_()


def test_what_others_print_is_for_the_page_alone(
    manager: FakeManager, capsys: pytest.CaptureFixture[str]
) -> None:
    collected = collector(manager, "all")
    manager.print(b"ours\n")
    manager.print(b"theirs\n", name="cd" * 16, is_own=False)
    assert str(collected.logs()) == "ours\n"
    assert [str(log) for log in collected.recent(5)] == ["theirs\n", "ours\n"]
    assert [str(log) for log in collected.recent(1)] == ["theirs\n"]
    assert capsys.readouterr() == ("ours\n", "")
