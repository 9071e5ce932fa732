"""A rank is killed while events of all sizes are on their way: every survivor learns which."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events.apart import outliving
from tests.events.test_joined import free_address, invited
from tests.mpi import BIN, launcher

RANKS = 3

STORM = """
import os, random, sys
from freestone import events as ev
from freestone.errors.events import RankLostError

victim, moment, seed = map(int, sys.argv[1:])
chance = random.Random(seed)

def main(rank):
    seen = 0

    def pass_on(event):
        nonlocal seen
        seen += 1
        if rank.id == victim and seen >= moment:
            os.kill(os.getpid(), 9)
        rank.fire(chance.randrange(rank.size), "token", event.data)

    rank.submit(pass_on, on=[(ev.ANY, "token")], persistent=True)
    for nbytes in (8, 1000, 100_000, 2_000_000):
        rank.fire(ev.ALL, "token", bytes(nbytes))
    rank.wait([(ev.ANY, "never")])

try:
    ev.run(main, ranks=3, workers=1)
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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["rings", "tcp", "mpi"])
def test_a_rank_is_killed_at_a_random_moment(way: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"{way} {seed}")
    victim, moment = chance.randrange(RANKS), chance.randrange(1, 400)
    program = tmp_path / "storm.py"
    program.write_text(STORM)
    words = [sys.executable, str(program), str(victim), str(moment), str(seed)]
    if way == "rings":
        # The process that starts them is informed for all.
        lines, survivors = printed([words], [{}]), 1
    elif way == "tcp":
        meeting = free_address()
        environments = [invited(tmp_path, rank, RANKS, meeting) for rank in range(RANKS)]
        lines, survivors = printed([words] * RANKS, environments), RANKS - 1
    else:
        path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
        before = [launcher(), "-n", str(RANKS), *outliving(tmp_path / "ended", RANKS)]
        lines, survivors = printed([before + words], [path]), RANKS - 1
        lines = [line for line in lines if line.endswith("is lost")]
    assert lines == [f"rank {victim} is lost"] * survivors, (victim, moment)
