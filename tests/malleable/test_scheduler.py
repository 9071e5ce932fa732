"""Targets from a scheduler, by lines of JSON over a socket, and from a file."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.scheduler.serve import Shares
from freestone.errors import ConfigurationError
from freestone.malleable import File, Method, Request, Scheduler, Status
from tests.malleable.jobs import run
from tests.waiting import until

STATUS = Status(5, 100, 3, step_s={3: 0.25}, resizes=1, hosts=("a", "a", "b"))


class Served:
    """A scheduler that gives one answer after another, the last one again and again."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.lines = list(answers), list[dict[str, Any]]()

    def answer(self, line: bytes) -> bytes:
        """Return the answer to a job's line."""
        self.lines.append(json.loads(line))
        return (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]).encode()


@contextlib.contextmanager
def serving(served: Served, path: Path | None) -> Iterator[str]:
    """Serve at a path, or on TCP without one; the address."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(served.answer(self.rfile.readline()))

    server: Any
    if path is None:
        server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
        address = f"127.0.0.1:{server.server_address[1]}"
    else:
        server, address = socketserver.UnixStreamServer(str(path), Handler), str(path)
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield address
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("is_tcp", [False, True])
def test_a_scheduler_hears_of_the_job_and_is_obeyed(tmp_path: Path, is_tcp: bool) -> None:
    answer = '{"processes": 4, "hosts": {"a": 2, "c": 2}, "method": "merge-p2p-sync"}\n'
    served = Served(answer, "{}\n")
    with serving(served, None if is_tcp else tmp_path / "s") as address:
        source = Scheduler(address, "cg", every_s=1e-9)
        request = source.ask(STATUS)
        assert request == Request(4, Method.parse("merge-p2p-sync"), {"a": 2, "c": 2})
        assert source.ask(STATUS) is None
        source.finish()
        assert until(lambda: len(served.lines) == 3)
    line = {"job": "cg", "state": "running", "step": 5, "total": 100, "processes": 3}
    line |= {"hosts": {"a": 2, "b": 1}, "step_s": 0.25, "resizes": 1}
    assert served.lines == [line, line, {**line, "state": "ended"}]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "closed the connection"),
        ("{}", "closed the connection"),
        ("four\n", "is no JSON"),
        ('{"size": 4}\n', "unknown key 'size'"),
        ('{"processes": 0}\n', "at least 1"),
        ('{"hosts": {"a": 1}}\n', "at least 1"),
        ('{"processes": 4, "hosts": {"a": 2}}\n', "4 processes on hosts that take 2"),
        ('{"processes": 4, "hosts": ["a"]}\n', "the number of processes that each takes"),
        ('{"processes": 4, "method": "best"}\n', "not of the form"),
        ("\xff\n", "no JSON"),
    ],
)
def test_an_answer_that_makes_no_sense_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: str, problem: str
) -> None:
    with serving(Served(answer), tmp_path / "s") as address:
        source = Scheduler(address, "cg", every_s=1e-9)
        with caplog.at_level(logging.WARNING, "freestone.malleable"):
            assert source.ask(STATUS) is None
            assert source.ask(STATUS) is None
    assert [problem in record.message for record in caplog.records] == [True]


def test_without_a_scheduler_a_job_stays_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = Scheduler(tmp_path / "none", "cg")
    assert source.ask(STATUS) is None
    source.finish()
    assert "No such file" in caplog.records[0].message


def test_a_scheduler_that_accepts_nobody_is_named_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind(address)
        listener.listen(0)
        other.connect(address)
        with caplog.at_level(logging.WARNING, "freestone.malleable"):
            assert Scheduler(address, "cg").ask(STATUS) is None
    assert "as it is: ConnectionError: its queue of connections is full" in caplog.text


@pytest.mark.parametrize("wrong", [{"every_s": 0}, {"timeout_s": -1}, {"address": "a:70000"}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Scheduler(**{"address": "a:7000", "job": "cg", **wrong})


def test_a_file_may_name_hosts_and_what_makes_no_sense_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "target"
    source = File(path)
    path.write_text('{"processes": 2, "hosts": {"a": 2}}')
    assert source.ask(STATUS) == Request(2, slots={"a": 2})
    for text in ("²", "9" * 5000, str(2**31), "[" * 100_000):
        path.write_text(text)
        source = File(path)
        caplog.clear()
        assert source.ask(STATUS) is None
        assert source.ask(STATUS) is None
        assert len(caplog.records) == 1


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_a_request_or_a_configuration_error(text: str) -> None:
    with contextlib.suppress(ConfigurationError):
        assert isinstance(Request.parse(text), Request | None)


def test_slots_are_shared_evenly() -> None:
    shares = Shares(4)

    def ask(job: str, processes: int, state: str = "running", now: float = 0.0) -> int:
        line = {"job": job, "state": state, "processes": processes}
        return shares.answer(line, now).get("processes", processes)

    assert ask("a", 1) == 4
    assert ask("b", 1) == 1
    assert ask("a", 4) == 2
    assert ask("b", 1) == 1
    assert ask("a", 2) == 2
    assert ask("b", 1) == 2
    ask("a", 2, "ended")
    assert ask("b", 2) == 4
    assert ask("c", 1, now=100.0) == 4


def test_a_job_does_what_a_scheduler_says(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    answers = ['{"processes": 3}\n', '{"processes": 0}\n', '{"processes": 1}\n', "{}\n"]
    with serving(Served(*answers), tmp_path / "s") as address:
        outcome = run("scheduled.py", address)
    assert outcome.status == 0, outcome.err
    assert outcome.data == [3, 1]
    assert "at least 1" in outcome.err


def test_an_answer_without_places_for_ranks_that_stay_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    host = socket.gethostname()
    answers = [
        {"processes": 3},
        {"processes": 2, "hosts": {"nowhere.example": 2}},
        {"processes": 2, "hosts": {"nowhere.example": 1, host: 1}},
        {"processes": 2, "hosts": {host: 2}},
        {"processes": 1},
    ]
    lines = [json.dumps(one) + "\n" for one in answers]
    with serving(Served(*lines), tmp_path / "s") as address:
        outcome = run("scheduled.py", address)
    assert outcome.status == 0, outcome.err
    assert outcome.data == [3, 2, 1]
    asked = "2 processes were asked for on"
    first = f"{asked} {{'nowhere.example': 2}}, and ranks are on {{'{host}': 3}}: 3 of them have"
    second = "2 of them have no place there, and 1 would leave; grant the hosts"
    assert first in outcome.err
    assert second in outcome.err
    assert outcome.err.count(asked) == 2
