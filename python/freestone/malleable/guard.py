"""Stands between the launcher and a joining rank, so that losing one is not losing the job.

MPICH's launcher ends a whole job when it loses a process: when one is killed by a signal, or its
line to the launcher (PMI) breaks. Of a joining rank it sees this process, which holds the line,
too. If the joining rank is killed before it has joined, this process takes leave in its name. From
the switch on the joining rank has rows that nobody else has; then its end is made known as it was.

Run as a file, by a Python that imports next to nothing.

See docs/decisions/021-joining-processes-have-a-guard-process.md
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["LINE", "PIPE", "main"]

# What hydra calls the line to it, by which we know that it is hydra.
LINE = "PMI_FD"
# Where a joining rank finds the pipe into which it says that it has joined.
PIPE = "FREESTONE_GUARD"
_PDEATHSIG = 1
_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)


def main(words: list[str]) -> int:
    """Run a joining rank, and return the status to end with."""
    # Who signals all that runs a program does not mean this process.
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    joined, join = os.pipe()
    os.set_blocking(joined, False)
    joining_rank = os.fork()
    if joining_rank == 0:
        os.close(joined)
        os.set_inheritable(join, True)
        _be_joining_rank(words, join)
    os.close(join)
    _, status = os.waitpid(joining_rank, 0)
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    if _has_joined(joined):
        number = signal.Signals(os.WTERMSIG(status))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _take_leave(int(os.environ[LINE]))
    return 0


def _has_joined(pipe: int) -> bool:
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:
        # Processes that it has started still have the other end.
        return False


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
