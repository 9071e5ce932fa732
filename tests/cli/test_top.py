"""``freestone top``: what it draws of given figures, and of a cluster that runs."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

import freestone as fs
from freestone.cli import main
from freestone.cli.top import Keys, screen, watch
from freestone.cli.top_views import VIEWS, keys_line
from freestone.errors import UsageError
from freestone.observe.dashboard import Dashboard
from freestone.observe.dashboard.reader import PageReader
from freestone.observe.dashboard.views import Views
from tests import waiting
from tests.observe.sampled import Turns

OPTIONS = {"executors": 1, "memory": "64MiB", "disk": "1GiB"}


def speak(seconds: float) -> None:
    print("spoken")
    turns = Turns(seconds)
    while not turns.are_over():
        sum(range(1000))


def function(label: str, done: int, **given: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("waiting", "ready", "assigned", "failed"), 0)
    return {"label": label, "done": done, "busy_ns": 2_000_000 * done} | counts | given


def worker(number: int, **given: Any) -> dict[str, Any]:
    figures = {"worker": f"worker-{number}", "host": "node", "slots": 4, "running": 3}
    figures |= {"leaving": False, "cpu": 2.5, "cores": 4, "rss": 3 << 20}
    figures |= {"resources": {}, "taken": {}}
    sizes = {"memory_nbytes": 1 << 20, "memory_quota": 1 << 30, "disk_nbytes": 0}
    return figures | sizes | {"sent_nbytes": 0, "received_nbytes": 0} | given


def figures(now_s: float, done: int, **given: Any) -> dict[str, Any]:
    counts = {"waiting": 5, "ready": 0, "assigned": 3, "answered": 0, "failed": 1}
    counts |= {"retried": 2, "recovered": 0, "transfers": 1, "transferred_nbytes": 2048}
    functions = [function("mass", done, waiting=5, assigned=3, failed=1)]
    lists = {"functions": functions, "functions_in_all": 1, "workers": [worker(0)]}
    about = {"now_s": now_s, "address": "unix:/tmp/it", "done": done, "failed_lately": []}
    return about | counts | lists | given


def test_a_screen_has_tasks_functions_workers_and_failures() -> None:
    failure = {"label": "mass", "ended": "raised", "message": "ValueError: no\nmore"}
    before = figures(60.0, 71, workers=[worker(0)])
    sent = [worker(0, sent_nbytes=4096, leaving=True)]
    now = figures(62.0, 91, workers=sent, failed_lately=[failure])
    assert screen(now, before, None, None) == [
        "unix:/tmp/it, up 1 min 2 s, 1 worker, 4 executors",
        "tasks: 5 waiting, 3 assigned, 91 done, 1 failed, 2 retried; 10.0 calls/s; "
        "1 transfer of 2 KiB",
        "",
        "function  progress      waiting  ready  running  done  failed  calls/s     mean",
        "mass      ###########.        5      0        3    91       1     10.0  1.98 ms",
        "",
        "worker           host  running  cores  resident         memory     disk     in/s  out/s",
        "worker-0 leaves  node      3/4  2.5/4     3 MiB  1 MiB / 1 GiB  0 bytes  0 bytes  2 KiB",
        "mass raised: ValueError: no\N{REPLACEMENT CHARACTER}more",
    ]


def test_the_first_look_has_no_rates_and_a_worker_elsewhere_no_processes() -> None:
    lines = screen(figures(1.0, 3, workers=[worker(1, cpu=None, rss=None)]), None, None, None)
    assert "; - calls/s;" in lines[1]
    assert lines[-1].split() == (
        "worker-1 node 3/4 - - 1 MiB / 1 GiB 0 bytes - -".split()  # noqa: SIM905
    )


def test_custom_resources_that_calls_have_are_shown() -> None:
    given = {"resources": {"licence": 2, "ta\x1bpe": 1}, "taken": {"licence": 1, "ta\x1bpe": 0}}
    lines = screen(figures(1.0, 3, workers=[worker(0, **given), worker(1)]), None, None, None)
    assert lines[-3].endswith("resources")
    assert lines[-2].endswith("licence 1/2, ta\N{REPLACEMENT CHARACTER}pe 0/1")
    assert lines[-1].strip().endswith("-")


def test_names_cannot_steer_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\r\n"
    failure = {"label": evil, "ended": "raised", "message": evil}
    now = figures(1.0, 1, functions=[function(evil, 1)], failed_lately=[failure])
    assert all(line.isprintable() for line in screen(now, None, 80, 24))


@pytest.mark.parametrize(("functions", "workers"), [(200, 1), (1, 200), (200, 200), (1, 1), (0, 0)])
@pytest.mark.parametrize("lines", [10, 24, 60])
def test_it_fits_the_terminal(functions: int, workers: int, lines: int) -> None:
    now = figures(
        1.0,
        1,
        functions=[function(f"f{number}", number) for number in range(functions)],
        functions_in_all=functions,
        workers=[worker(number) for number in range(workers)],
    )
    drawn = screen(now, None, 60, lines)
    assert len(drawn) <= lines
    assert max(map(len, drawn)) <= 60
    shown = sum(line.startswith("f") for line in drawn) - 1
    assert shown == functions or f"({functions - shown} more)" in "\n".join(
        screen(now, None, None, lines)
    )


def test_watching_compares_each_look_with_the_one_before() -> None:
    looks = iter([figures(0.0, 0), figures(1.0, 10), figures(2.0, 30)])
    drawn: list[tuple[int, int | None]] = []

    def look() -> dict[str, Any]:
        found = next(looks, None)
        if found is None:
            raise ConnectionError
        return found

    with pytest.raises(ConnectionError):
        watch(
            look,
            lambda now, before: drawn.append((now["done"], before and before["done"])),
            lambda: None,
        )
    assert drawn == [(0, None), (10, 0), (30, 10)]


def test_keys_choose_views_and_rows_and_end_it() -> None:
    keys = Keys(1.0)
    keys.press("tjj\x1b[Bk")
    assert (keys.view, keys.chosen) == ("t", 2)
    keys.press("\x1b[A\x1b[A\x1b[A")
    assert keys.chosen == 0
    keys.press("zjm")
    assert (keys.view, keys.chosen) == ("m", 0)
    with pytest.raises(KeyboardInterrupt):
        keys.press("q")


def test_a_view_has_the_keys_on_the_last_line_and_fits() -> None:
    listed = [f"line {number} \x1b[2J" for number in range(100)]
    now = figures(1.0, 3, keys=keys_line("l"), listed=listed)
    drawn = screen(now, None, 60, 24)
    assert len(drawn) == 24
    assert drawn[3] == "line 0 \N{REPLACEMENT CHARACTER}[2J"
    assert drawn[-1].startswith("o overview  t tasks  ")
    assert "[l logs]" in keys_line("l")
    assert screen(figures(1.0, 3, keys=keys_line("o")), None, 60, 24)[-1].startswith("[o overview]")


# -- with a cluster -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[fs.Cluster]:
    with fs.Cluster(**OPTIONS) as cluster:
        cluster.gather(cluster.map(pow, range(10), range(10)))
        yield cluster


def test_a_running_cluster_is_shown_by_its_link(
    running: fs.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", str(running.dashboard_link)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(running.address)
    (row,) = (line.split() for line in lines if line.startswith("pow "))
    assert row[:7] == ["pow", "############", "0", "0", "0", "10", "0"]


def test_a_running_cluster_is_found_by_its_folder(
    running: fs.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", "--json", "--cluster", running.folder]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["done"], found["failed_lately"]) == (10, [])


@pytest.mark.parametrize("key", VIEWS)
def test_each_view_is_of_a_cluster_that_runs(key: str) -> None:
    with fs.Cluster(profile=0.005, logs="none", **OPTIONS) as cluster:
        page = PageReader(str(cluster.dashboard_link))
        assert VIEWS[key].lines(page.ask, 3), "also when there is nothing to show"
        cluster.submit(speak, 0.3, name="speak").result()
        assert cluster.submit(divmod, 1, 0, name="fails").exception() is not None
        gate = cluster.queue("gate")
        first = cluster.submit(gate.get, pure=False, name="first")
        cluster.submit(abs, first, name="second")
        assert waiting.until(lambda: any("wait" in line for line in VIEWS["t"].lines(page.ask, 0)))
        expected = {
            "t": r"> second\(first\)",
            "m": "speak ",
            "x": "Nothing went between workers.",
            "f": "    ZeroDivisionError",
            "l": "    spoken",
            "p": r"speak \(test_top.py:",
        }[key]
        shown = "\n".join(VIEWS[key].lines(page.ask, 1))
        assert re.search(expected, shown), shown
        gate.put(-1)
        assert first.result() == -1


def test_a_terminal_is_drawn_on_until_ctrl_c_and_left_as_it_was(
    running: fs.Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("freestone.cli.top.time.sleep", sleep)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("LINES", "20")
    assert main(["top", "--interval", "7", str(running.dashboard_link)]) == 0
    assert pauses == [7.0] * 3
    begin, *frames, end = re.split(
        "\x1b\\[H|(?<=\x1b\\[J)(?=\x1b\\[\\?25h)", capsys.readouterr().out
    )
    assert begin == "\x1b[?1049h\x1b[?25l"
    assert [frame.count("pow  ") for frame in frames] == [1, 1, 1]
    assert end == "\x1b[?25h\x1b[?1049l"


def test_the_end_of_a_cluster_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        pass
    page = Dashboard(lambda: Views(cluster))
    with contextlib.closing(page):
        assert main(["top", page.link]) == 1
    assert capsys.readouterr().err == "freestone top: the cluster is closed\n"


def test_an_address_where_nothing_answers_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unheard.getsockname()[1]}"
        assert main(["top", "--once", f"http://{address}/token/"]) == 1
    assert f"freestone top: no page answers at {address} (" in capsys.readouterr().err


def test_a_cluster_without_a_page_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        assert main(["top", "--cluster", cluster.folder]) == 2
    assert "serves no page" in capsys.readouterr().err


@pytest.mark.parametrize("link", ["nothing", "http://127.0.0.1:8787", "ftp://127.0.0.1/x", ""])
def test_what_is_no_address_is_refused(link: str) -> None:
    with pytest.raises(UsageError, match="no page's address"):
        PageReader(link)


def test_a_wrong_token_is_refused(running: fs.Cluster) -> None:
    wrong = f"{str(running.dashboard_link)[:-3]}zz/"
    with pytest.raises(UsageError, match="refused: no such page; is the address whole"):
        PageReader(wrong).ask("summary")


def test_looks_are_not_too_frequent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--interval", "0.01", "http://127.0.0.1:1/x/"]) == 2
    assert "at least 0.1 s" in capsys.readouterr().err
