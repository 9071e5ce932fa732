"""What was printed is read before a job is aborted."""

from __future__ import annotations

import subprocess
import sys

from freestone.hosts.printed import _unread_nbytes
from tests.waiting import until

PRINTS = """
import sys
from freestone.hosts import printed

printed._TIMEOUT_S = float(sys.argv[1])
print("the reason")
printed.await_launcher()
sys.exit(printed._unread_nbytes(1))
"""


def started(timeout_s: float) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PRINTS, str(timeout_s)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_a_process_waits_until_the_launcher_has_read_what_it_printed() -> None:
    with started(60) as process:
        assert process.stdout is not None
        assert until(lambda: _unread_nbytes(process.stdout.fileno()))
        assert process.poll() is None
        assert process.stdout.readline() == "the reason\n"
        assert process.wait(60) == 0


def test_a_launcher_that_reads_nothing_is_not_waited_for_for_ever() -> None:
    with started(0.01) as process:
        assert process.wait(60) == len("the reason\n")
