"""A rank whose process is stopped is killed: nobody waits for it in vain."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.events.test_c import built, prefix

__all__ = ["prefix"]

PYTHON = """
import os, signal
from freestone import events as ev
from freestone.errors.events import RankLostError

def main(rank):
    rank.drain()
    if rank.id == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    rank.wait([(1, "never")])

try:
    ev.run(main, ranks=3, workers=1)
except RankLostError as error:
    print(error.rank, error)
"""

C = r"""
#include <freestone_events.h>
#include <signal.h>
int main(void) {
  if (fse_init(NULL) != FSE_OK) return 1;
  fse_drain();
  if (fse_rank() == 1) raise(SIGSTOP);
  return fse_finalise() == FSE_RANK_LOST ? 7 : 8;
}
"""


# Long enough for the others to show that they run, whatever else the machine does.
SETTING = {"FREESTONE_EVENTS_STOPPED_TIMEOUT_S": "10"}


def ended(words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        env={**os.environ, **SETTING, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_stopped_rank_is_killed_and_lost() -> None:
    found = ended([sys.executable, "-c", PYTHON])
    assert found.stdout.startswith("1 rank 1 is lost: its process "), found.stdout + found.stderr
    assert " has not run for 1" in found.stdout
    assert "FREESTONE_EVENTS_STOPPED_TIMEOUT_S" in found.stdout


def test_so_is_one_of_a_program_in_c(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "stops.c"
    source.write_text(C)
    program = built(prefix, source, tmp_path)
    found = ended([program], FREESTONE_EVENTS_RANKS="3")
    assert re.search(r"rank 1 is killed: its process \d+ has not run for 1\d\.\d s", found.stderr)
    assert found.returncode == 128 + 9, found.stderr
