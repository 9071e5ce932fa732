"""What a launcher sees of a joining rank that ends, by whatever end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from freestone.malleable import guard

KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
JOINED = f"import os; os.write(int(os.environ['{guard.PIPE}']), b'+'); {KILLED}"


def end_of(program: str, answer: bytes = b"cmd=finalize_ack\n") -> tuple[int, bytes]:
    """Run a program under a guard; return its status, and what the launcher heard."""
    line, launcher = socket.socketpair()
    with line, launcher:
        launcher.sendall(answer)
        words = [sys.executable, "-I", "-S", guard.__file__, sys.executable, "-c", program]
        done = subprocess.run(
            words,
            env={**os.environ, guard.LINE: str(line.fileno())},
            pass_fds=[line.fileno()],
            timeout=60,
            check=False,
        )
        launcher.setblocking(False)
        try:
            heard = launcher.recv(100)
        except BlockingIOError:
            heard = b""
    return done.returncode, heard


def test_one_that_is_killed_before_it_has_joined_takes_leave() -> None:
    assert end_of(KILLED) == (0, b"cmd=finalize\n")


def test_one_that_is_killed_later_is_lost() -> None:
    assert end_of(JOINED) == (-signal.SIGKILL, b"")


@pytest.mark.parametrize("status", [0, 3])
def test_an_end_in_good_order_is_passed_on(status: int) -> None:
    assert end_of(f"raise SystemExit({status})") == (status, b"")


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_signals_to_all_that_run_a_program_do_not_end_it(number: int) -> None:
    program = f"import os; os.kill(os.getppid(), {int(number)}); raise SystemExit(5)"
    assert end_of(program) == (5, b"")
