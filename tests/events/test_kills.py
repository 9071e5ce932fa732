"""Ranks are killed while events of all sizes are on their way: every survivor names one of them."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events.apart import outliving
from tests.events.test_joined import free_address, invited
from tests.mpi import BIN, launcher

RANKS = 4

STORM = """
import os, random, sys
from pathlib import Path
from freestone import events as ev
from freestone.errors.events import RankLostError

moment, seed, *victims = map(int, sys.argv[2:])
pids = Path(sys.argv[1])
chance = random.Random(seed)

def main(rank):
    seen = 0
    (pids / str(rank.id)).write_text(str(os.getpid()))
    rank.drain()

    def pass_on(event):
        nonlocal seen
        seen += 1
        if rank.id == victims[0] and seen >= moment:
            for other in victims[1:]:
                os.kill(int((pids / str(other)).read_text()), 9)
            os.kill(os.getpid(), 9)
        rank.fire(chance.randrange(rank.size), "token", event.data)

    rank.submit(pass_on, on=[(ev.ANY, "token")], persistent=True)
    for nbytes in (8, 1000, 100_000, 2_000_000):
        rank.fire(ev.ALL, "token", bytes(nbytes))
    rank.wait([(ev.ANY, "never")])

try:
    ev.run(main, ranks=4, workers=1)
except RankLostError as error:
    os.write(1, f"rank {error.rank} is lost\\n".encode())
    os._exit(7)
"""


def printed(commands: list[list[str]], environments: list[dict[str, str]]) -> list[str]:
    """Run processes until all have ended; what they printed."""
    started = [
        subprocess.Popen(
            words,
            env={**os.environ, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words, own in zip(commands, environments, strict=True)
    ]
    try:
        output = [process.communicate(timeout=120)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return "".join(output).splitlines()


@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["rings", "tcp", "nodes", "mpi"])
def test_ranks_are_killed_at_a_random_moment(
    way: str, seed: int, count: int, tmp_path: Path
) -> None:
    chance = random.Random(f"{way} {seed} {count}")
    moment = chance.randrange(1, 400)
    # Of two that are lost in the same moment, one is the rank to which all are connected.
    victims = [chance.randrange(count - 1, RANKS)] + [0] * (count - 1)
    chance.shuffle(victims)
    program, pids = tmp_path / "storm.py", tmp_path / "pids"
    program.write_text(STORM)
    pids.mkdir()
    numbers = map(str, [moment, seed, *victims])
    words = [sys.executable, str(program), str(pids), *numbers]
    survivors = RANKS - count
    if way == "rings":
        # The process that starts them is informed for all.
        lines, survivors = printed([words], [{}]), 1
    elif way in {"tcp", "nodes"}:
        meeting = free_address()
        nodes = ["none"] * RANKS if way == "tcp" else ["one", "one", "two", "two"]
        environments = [
            invited(tmp_path, rank, RANKS, meeting, nodes[rank]) for rank in range(RANKS)
        ]
        lines = printed([words] * RANKS, environments)
    else:
        path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
        before = [launcher(), "-n", str(RANKS), *outliving(tmp_path / "ended", RANKS)]
        lines = printed([before + words], [path])
        lines = [line for line in lines if line.endswith("is lost")]
    assert len(lines) == survivors, (victims, moment, lines)
    assert set(lines) <= {f"rank {victim} is lost" for victim in victims}, (victims, moment)
