"""Random histories: in one process, some hundred in a second; or as jobs of MPI."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from freestone.errors import SavedStateError
from freestone.malleable import states
from freestone.malleable.index import Entry, Index, Piece
from tests.fuzz.fuzzers import Check
from tests.malleable.histories import History, draw
from tests.malleable.jobs import run
from tests.malleable.simulation import simulate

__all__ = ["checking"]


def _check_simulated(seed: int) -> str:
    """Go through the history of a seed in this process; return what is wrong with it."""
    return simulate(draw(seed, largest=6, most_resizes=8), seed)


def _check_real(seed: int) -> str:
    """Run the history of a seed; return what is wrong with it, if something is."""
    history = draw(seed)
    outcome = run("history.py", json.dumps(history.as_dict()))
    if outcome.status:
        return outcome.err[-4000:] or f"status {outcome.status}"
    try:
        found = outcome.data
    except ValueError:
        return f"it printed {outcome.out[-2000:]!r}; {outcome.err[-2000:]}"
    return problem_of(history, found["trace"], found["sizes"][1])


def problem_of(history: History, trace: list[list[int]], errors: list[str]) -> str:
    """Return what is wrong with the steps that a job took, or with its resizes."""
    *loops, _ = history.loops
    wanted = [[number, index] for number, loop in enumerate(loops) for index in range(loop.steps)]
    if trace[: len(wanted)] != wanted:
        return f"the steps were {trace[: len(wanted)]}"
    last = [index for _, index in trace[len(wanted) :]]
    if last != list(range(len(last))):
        return f"the steps of the last loop were {last}"
    wrong = [error for error in errors if error and not error.startswith("called off")]
    return f"resizes failed: {wrong}" if wrong else ""


def _check_state(seed: int) -> str:
    """Read a file as C writes it, damaged or with a wrong index; return what it raised."""
    draw = random.Random(seed)
    rows = draw.randbytes(64)
    chunk = np.array([[0, 64, zlib.crc32(rows)]], np.int64)
    index = Index(3, 2, 0.0, [Entry("x", "variable", 8, "rows", "", [Piece(8, 64, 8, chunk)])])
    text = bytearray(index.text().encode())
    for _ in range(draw.randrange(3)):
        text[draw.randrange(len(text))] = draw.choice(b"0129- \nxdp\xff")
    end = states.TRAILER.pack(72, len(text), 0, zlib.crc32(text), states.MAGIC)
    content = bytearray(states.MAGIC + rows + text + end)
    for _ in range(draw.randrange(2)):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        path.write_bytes(content[: draw.choice([None, None, draw.randrange(len(content))])])
        try:
            states.State(path)
        except SavedStateError:
            return ""
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


@contextlib.contextmanager
def checking(how: str = "") -> Iterator[Check]:
    """Open the check of histories: in this process, or "real" ones as jobs of MPI; or of states."""
    find = {"": _check_simulated, "real": _check_real, "states": _check_state}[how]

    def check(seed: int) -> str | None:
        problem = find(seed)
        what = "" if how == "states" else f"\n{draw(seed)}"
        return f"{problem}{what}" if problem else None

    yield check
