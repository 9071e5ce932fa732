"""Ranks of several nodes: memory that they share inside each, and TCP between them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events.test_c import prefix
from tests.events.test_edat import EXPECTED, built
from tests.events.test_joined import PROGRAM, free_address, invited
from tests.events.test_limits import Cable, cable

__all__ = ["cable", "prefix"]

# What a process has of others' memory is named in its map.
SHARES = """
from pathlib import Path
from freestone import events as ev

def main(rank):
    for size in (8, 100_000, 3_000_000):
        rank.fire(ev.ALL, "token", bytes(size) + bytes([rank.id]))
    found = rank.wait([(ev.ALL, "token")] * 3)
    assert [event.data[-1] for event in found] == list(range(rank.size)) * 3
    assert [len(event.data) for event in found[:: rank.size]] == [9, 100_001, 3_000_001]
    rank.drain()
    return "memfd:freestone-events" in Path("/proc/self/maps").read_text()

print(ev.run(main)[int(__import__("os").environ["FREESTONE_EVENTS_RANK"])])
"""


def ended(commands: list[list[str]], environments: list[dict[str, str]]) -> list[tuple[int, str]]:
    """Run processes until all have ended; their codes, and what each printed."""
    started = [
        subprocess.Popen(
            words,
            env={**os.environ, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for words, own in zip(commands, environments, strict=True)
    ]
    try:
        output = [process.communicate(timeout=240)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [(one.returncode, text) for one, text in zip(started, output, strict=True)]


@pytest.mark.parametrize(
    ("nodes", "shares"),
    [
        (["a", "a", "b", "b"], [True] * 4),
        (["a", "b", "a", "none"], [True, False, True, False]),
        (["", "", ""], [True] * 3),
    ],
    ids=["two", "some", "unsaid"],
)
def test_ranks_of_a_node_share_memory(tmp_path: Path, nodes: list[str], shares: list[bool]) -> None:
    meeting, ranks = free_address(), len(nodes)
    own = [invited(tmp_path, rank, ranks, meeting, node) for rank, node in enumerate(nodes)]
    found = ended([[sys.executable, "-c", SHARES]] * ranks, own)
    assert found == [(0, f"{one}\n") for one in shares]


def test_a_network_of_its_own_is_a_node_of_its_own(cable: Cable, tmp_path: Path) -> None:
    hosts = [cable.names[0], cable.names[0], cable.names[1]]
    words = [["ip", "netns", "exec", host, sys.executable, "-c", SHARES] for host in hosts]
    own = [invited(tmp_path, rank, 3, "10.98.7.1:7707", "") for rank in range(3)]
    assert ended(words, own) == [(0, "True\n"), (0, "True\n"), (0, "False\n")]


def test_where_one_cannot_open_the_memory_all_of_its_node_talk_by_tcp(tmp_path: Path) -> None:
    # Rank 1 has no address space left for the memory of two, which are a gigabyte each.
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1_800_000_000,) * 2)\n"
    sources = [SHARES, limited + SHARES, SHARES, SHARES]
    nodes = ["a", "a", "b", "b"]
    meeting = free_address()
    own = [invited(tmp_path, rank, 4, meeting, node) for rank, node in enumerate(nodes)]
    found = ended([[sys.executable, "-c", source] for source in sources], own)
    assert [code for code, _ in found] == [0] * 4, found
    assert [text.splitlines()[-1] for _, text in found] == ["False", "False", "True", "True"]
    assert "the ranks of the node of rank 1 talk by TCP" in found[1][1]


def test_ranks_join_a_run_of_several_nodes(tmp_path: Path) -> None:
    meeting = free_address()
    own = [invited(tmp_path, rank, 2, meeting, "a") for rank in range(2)]
    own[0]["FREESTONE_EVENTS_MOST"] = "3"
    joins = {**own[1], "FREESTONE_EVENTS_RANK": "join"}
    source = PROGRAM.replace("def main(rank):\n", JOINED)
    found = ended([[sys.executable, "-c", source]] * 3, [*own, joins])
    assert [code for code, _ in found] == [0, 0, 0], found


JOINED = """def main(rank):
    if not rank.has_joined:
        rank.wait([(ev.ANY, ev.RANK_JOINED)])
"""


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_program_of_edat(prefix: Path, tmp_path: Path, name: str) -> None:
    meeting, program = free_address(), built(prefix, name, tmp_path)
    own = [invited(tmp_path, rank, 2, meeting, "a") for rank in range(2)]
    found = ended([[program]] * 2, own)
    assert [code for code, _ in found] == [0, 0], found
    lines = "".join(text for _, text in found).splitlines()
    assert sorted(lines) == EXPECTED[name]


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    own = invited(tmp_path, 0, 1, free_address(), "rack 1")
    ((code, text),) = ended([[sys.executable, "-c", PROGRAM]], [own])
    assert code == 1
    assert "FREESTONE_EVENTS_NODE is 'rack 1': it must be a name of up to 64 letters" in text
