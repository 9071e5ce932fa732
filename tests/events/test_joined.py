"""Ranks that are started one by one and meet by TCP, as a batch system would start them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from freestone import events as ev
from freestone.errors import ConfigurationError
from tests.ports import free_ports

PROGRAM = """
from freestone import events as ev

def main(rank):
    right = (rank.id + 1) % rank.size
    rank.fire(right, "token", bytes(3_000_000) + bytes([rank.id]))
    return rank.wait([(ev.ANY, "token")])[0].data[-1]

print(ev.run(main))
"""

RAISES = """
from freestone import events as ev

def main(rank):
    if rank.id == 1:
        raise ValueError("no more")
    rank.wait([(ev.ANY, "never")])

ev.run(main)
"""


def invited(
    tmp_path: Path, rank: int, ranks: int, meeting: str, node: str = "none"
) -> dict[str, str]:
    return {
        "FREESTONE_EVENTS_NODE": node,
        "FREESTONE_EVENTS_MEETING": meeting,
        "FREESTONE_EVENTS_IDENTITY": str(tmp_path / "run.pem"),
        "FREESTONE_EVENTS_RANK": str(rank),
        "FREESTONE_EVENTS_RANKS": str(ranks),
    }


def free_address() -> str:
    """Return an address at which nobody listens."""
    return f"127.0.0.1:{free_ports(1)[0]}"


def together(tmp_path: Path, ranks: int, source: str) -> list[tuple[int, str, str]]:
    """Run a program as so many ranks; how each one ended, and what it said."""
    meeting = free_address()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", source],
            env={**os.environ, **invited(tmp_path, rank, ranks, meeting)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    try:
        output = [process.communicate(timeout=120) for process in started]
    finally:
        for process in started:
            process.kill()
    return [(one.returncode, *text) for one, text in zip(started, output, strict=True)]


def test_each_process_is_a_rank(tmp_path: Path) -> None:
    ended = together(tmp_path, 3, PROGRAM)
    assert [one[:2] for one in ended] == [
        (0, "[2, None, None]\n"),
        (0, "[None, 0, None]\n"),
        (0, "[None, None, 1]\n"),
    ], ended
    assert (tmp_path / "run.pem").stat().st_mode & 0o777 == 0o600


def test_a_rank_that_raises_ends_the_run_on_all(tmp_path: Path) -> None:
    for code, _, output in together(tmp_path, 2, RAISES):
        assert code == 1
        assert "ValueError: no more" in output


def test_what_is_missing_in_the_environment_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_MEETING", "127.0.0.1:1")
    monkeypatch.delenv("FREESTONE_EVENTS_RANKS", raising=False)
    with pytest.raises(ConfigurationError, match="FREESTONE_EVENTS_RANKS is ''") as caught:
        ev.run(print)
    assert caught.value.key == "FREESTONE_EVENTS_RANKS"
