"""Stands between the launcher and a joining rank, so that losing one is not losing the job.

MPICH's launcher ends a whole job when it loses a process: when one is killed by a signal, or its
line to the launcher (PMI) breaks. Of a joining rank it sees this process, which holds the line,
too. If the joining rank is killed before it has joined, this process takes leave in its name. From
the switch on the joining rank has rows that nobody else has; then its end is made known as it was.
A joining rank that hangs before it has come to its loop is killed when the others have given it up,
also on hosts where they can't kill it: the launcher would wait for it.

Run as a file, by a Python that imports next to nothing.

See docs/decisions/021-joining-processes-have-a-guard-process.md
"""

from __future__ import annotations

import math
import os
import select
import signal
import sys
import time

__all__ = ["ARRIVED", "JOINED", "LINE", "ON_ITS_WAY", "PIPE", "main"]

# What hydra calls the line to it, by which we know that it is hydra.
LINE = "PMI_FD"
# Where a joining rank finds the pipe into which it says what follows.
PIPE = "FREESTONE_GUARD"
# It is at the head of its loop; it goes on to another one, for as long at most; it has joined.
ARRIVED, ON_ITS_WAY, JOINED = b".", b">", b"+"
_PDEATHSIG = 1
_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)


def main(words: list[str]) -> int:
    """Run a joining rank, and return the status to end with.

    Parameters
    ----------
    words : list of str
        How many seconds it may take to come to its loop, and its program with arguments.
    """
    # Who signals all that runs a program does not mean this process.
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    ended = _ends_of_children()
    joined, join = os.pipe()
    joining_rank = os.fork()
    if joining_rank == 0:
        os.close(joined)
        os.set_inheritable(join, True)
        _be_joining_rank(words[1:], join)
    os.close(join)
    status, has_joined = _wait(joining_rank, ended, joined, float(words[0]))
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    if has_joined:
        number = signal.Signals(os.WTERMSIG(status))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _take_leave(int(os.environ[LINE]))
    return 0


def _ends_of_children() -> int:
    """Return where there is something to read after a child has ended; `pidfd_open` is too new."""
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return ended


def _wait(joining_rank: int, ended: int, pipe: int, timeout_s: float) -> tuple[int, bool]:
    """Wait for the end of a joining rank, and return its status and whether it had joined."""
    word, due = ON_ITS_WAY, time.monotonic() + timeout_s
    pipes = [ended, pipe]
    while True:
        left = due - time.monotonic() if word == ON_ITS_WAY else math.inf
        found, _, _ = select.select(pipes, [], [], None if math.isinf(left) else max(left, 0.0))
        if pipe in found:
            # Processes that it has started may still have the other end when it has closed its own.
            received = os.read(pipe, 64)
            word, due = received[-1:] or word, time.monotonic() + timeout_s
            pipes = [ended, pipe] if received else [ended]
        elif ended in found:
            os.read(ended, 64)
            process, status = os.waitpid(joining_rank, os.WNOHANG)
            if process:
                return status, word == JOINED
        else:
            os.kill(joining_rank, signal.SIGKILL)
            due = math.inf


def _be_joining_rank(words: list[str], join: int) -> None:
    import ctypes

    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    # The launcher kills those that it knows, which is the guard.
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    os.execve(words[0], words, {**os.environ, PIPE: str(join)})


def _take_leave(line: int) -> None:
    """Say to the launcher what `MPI_Finalize` says at last (PMI 1), and hear that it was heard."""
    os.write(line, b"cmd=finalize\n")
    heard = b""
    while b"\n" not in heard:
        more = os.read(line, 4096)
        if not more:
            return
        heard += more


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
