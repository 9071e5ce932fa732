"""What the process of a rank does."""

from __future__ import annotations

import ctypes
import os
import signal
from types import FrameType
from typing import Any

from freestone import _native
from freestone.events.memory_files import loaded, write
from freestone.events.outcome import Outcome, carry_out, pickled
from freestone.events.rank import Rank

_PR_SET_PDEATHSIG = 1


def work(job: dict[str, Any]) -> None:
    """Run the program as the rank that `job` describes, and write down how it ended."""
    _die_with(job["parent"])
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt_once)
    native = _native.events.EventRank.open(
        job["memory"], job["rank"], job["ranks"], arena=job["arena"], settings=job["settings"]
    )
    rank = Rank(native, job["rings"])
    try:
        main, args = loaded(job["program"])
    except BaseException as error:
        outcome = _refused(rank, error)
    else:
        outcome = carry_out(rank, main, args)
    write(job["result"], pickled(outcome, rank.id))


def _die_with(parent: int) -> None:
    """End with the process that watches over the run."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _interrupt_once(_signal: int, _frame: FrameType | None) -> None:
    """Interrupt the program, and let it end in peace: who watches over the run sees to the rest."""
    signal.signal(signal.SIGINT, lambda *_: None)
    raise KeyboardInterrupt


def _refused(rank: Rank, error: BaseException) -> Outcome:
    def main(_rank: Rank) -> None:
        raise error

    return carry_out(rank, main, ())
