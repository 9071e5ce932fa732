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
SAYS = f"import os, time; say = lambda word: os.write(int(os.environ['{guard.PIPE}']), word); "
JOINED = f"{SAYS}say({guard.JOINED!r}); {KILLED}"


def end_of(
    program: str, answer: bytes = b"cmd=finalize_ack\n", timeout_s: float = 60.0
) -> tuple[int, bytes]:
    """Run a program under a guard; return its status, and what the launcher heard."""
    line, launcher = socket.socketpair()
    with line, launcher:
        launcher.sendall(answer)
        words = [sys.executable, "-I", "-S", guard.__file__, repr(timeout_s)]
        words += [sys.executable, "-c", program]
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


@pytest.mark.parametrize("words", [[], [guard.ARRIVED, guard.ON_ITS_WAY]])
def test_one_that_does_not_come_to_its_loop_is_killed_and_takes_leave(words: list[bytes]) -> None:
    hangs = f"{SAYS}[say(word) for word in {words}]; time.sleep(3600)"
    assert end_of(hangs, timeout_s=2.0) == (0, b"cmd=finalize\n")


@pytest.mark.parametrize("word", [guard.ARRIVED, guard.JOINED])
def test_one_that_has_come_may_take_any_time(word: bytes) -> None:
    goes_on = f"{SAYS}say({word!r}); time.sleep(3); raise SystemExit(7)"
    assert end_of(goes_on, timeout_s=2.0) == (7, b"")
