"""Ranks that join a run while it is on, as processes, over TCP with the run's certificate."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from freestone import events as ev
from freestone.errors import ConfigurationError
from tests.events.test_joined import free_address

ROOT = Path(__file__).resolve().parents[2]
Process = subprocess.Popen[str]


class World:
    """A run with room for more, of which this starts ranks."""

    def __init__(self, folder: Path, most: int) -> None:
        self.environment = {
            **os.environ,
            "FREESTONE_EVENTS_MEETING": free_address(),
            "FREESTONE_EVENTS_IDENTITY": str(folder / "run.pem"),
            "FREESTONE_EVENTS_MOST": str(most),
        }
        self.started: list[Process] = []

    def start(self, rank: str, words: list[str], **more: str) -> Process:
        """Start a process as a rank, or as one that joins."""
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env={**self.environment, "FREESTONE_EVENTS_RANK": rank, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def found(self, ranks: int, words: list[str]) -> list[Process]:
        """Start the ranks with which the run begins."""
        count = {"FREESTONE_EVENTS_RANKS": str(ranks)}
        return [self.start(str(rank), words, **count) for rank in range(ranks)]

    def end(self) -> None:
        """Leave nobody behind."""
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, 4)
    yield made
    made.end()


def output(process: Process) -> str:
    """Wait for a process that has to end well; what it printed."""
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, printed + errors
    return printed


MEET = """
from freestone import events as ev

def main(rank):
    while rank.size < 4:
        rank.wait([(ev.ANY, ev.RANK_JOINED)])
    rank.fire(ev.ALL, "here", rank.id)
    return rank.has_joined, [event.data for event in rank.wait([(ev.ALL, "here")])]

print(ev.run(main))
"""


def test_joining_ranks_are_part_of_all(world: World) -> None:
    founders = world.found(2, ["-c", MEET])
    third = world.start("join", ["-c", MEET])
    fourth = world.start("join", ["-c", MEET])
    here = [0, 1, 2, 3]
    for rank, process in enumerate(founders):
        results: list[object] = [None] * 4
        results[rank] = (False, here)
        assert output(process) == f"{results}\n"
    joined = sorted([output(third), output(fourth)])
    assert joined == sorted(
        [f"{[None, None, (True, here), None]}\n", f"{[None, None, None, (True, here)]}\n"]
    )


EXAMPLE = ["examples/joining/main.py", "--limit", "200000", "--pieces", "60"]


def test_helpers_come_while_there_is_work(world: World) -> None:
    (dealer,) = world.found(1, EXAMPLE)
    helper = world.start("join", EXAMPLE)
    assert dealer.stdout is not None
    # Nobody else is there to do anything: the run has waited for this one.
    assert dealer.stdout.readline() == "rank 1 has come, there are 2 now\n"
    assert dealer.stdout.read() == "17,984 primes below 200,000, found by rank 1\n"
    assert dealer.wait(timeout=120) == 0
    output(helper)


LOSES = """
import os, signal
from freestone import events as ev

def main(rank):
    if rank.has_joined:
        rank.wait([(0, "ready"), (1, "ready")])
        os.kill(os.getpid(), signal.SIGKILL)
    rank.submit(lambda event: rank.fire(ev.SELF, "lost", event.source),
                on=[(ev.ANY, ev.RANK_LOST)])
    rank.fire(rank.wait([(ev.ANY, ev.RANK_JOINED)])[0].source, "ready")
    return rank.wait([(ev.SELF, "lost")])[0].data, rank.size

print(ev.run(main))
"""


def test_a_joining_rank_that_dies_is_lost_as_any_rank(world: World) -> None:
    founders = world.found(2, ["-c", LOSES])
    joining_rank = world.start("join", ["-c", LOSES])
    assert joining_rank.wait(timeout=120) == -signal.SIGKILL
    assert output(founders[0]) == "[(2, 3), None, None]\n"
    assert output(founders[1]) == "[None, (2, 3), None]\n"


@pytest.mark.parametrize(
    ("name", "value"), [("FREESTONE_EVENTS_RANK", "join"), ("FREESTONE_EVENTS_MOST", "8")]
)
def test_only_a_run_that_meets_by_tcp_can_be_joined(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Ranks that share memory, and those of MPI, are as many as they began with."""
    monkeypatch.delenv("FREESTONE_EVENTS_MEETING", raising=False)
    monkeypatch.setenv(name, value)
    match = f"HOST:PORT of rank 0.* and {name} is set"
    with pytest.raises(ConfigurationError, match=match) as raised:
        ev.run(print)
    assert raised.value.origin == "FREESTONE_EVENTS_MEETING"
