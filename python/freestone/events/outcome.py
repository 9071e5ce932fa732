"""How a program ended on one rank."""

from __future__ import annotations

import pickle
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CoroutineType
from typing import Any

from freestone import _native
from freestone.errors import FreestoneError
from freestone.errors.events import EventsError, RankFailedError
from freestone.events import tracing
from freestone.events.coroutines import complete
from freestone.events.failing import add_origin
from freestone.events.rank import Rank
from freestone.functions import dumps_failure
from freestone.observe.rings import Trace


@dataclass
class Outcome:
    """How a program ended on one rank.

    `own` tells whether the error is this rank's program's own; `left` lists what persistent tasks
    still held; `trace` is what it did, if that was noted.
    """

    value: Any = None
    error: BaseException | None = None
    own: bool = False
    left: list[str] = field(default_factory=list)
    trace: Trace | None = None


def carry_out(rank: Rank, main: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """Run `main` as a rank, and wait for the end of the run."""
    native = rank._native
    _native.events.set_current_rank(rank)
    outcome = Outcome()
    try:
        with rank.noted("main", "main"):
            value = main(rank, *args)
            is_coroutine = isinstance(value, CoroutineType)
            outcome.value = complete(rank, value) if is_coroutine else value
        outcome.left = native.finish()
    except KeyboardInterrupt as error:
        print(f"interrupted\n{rank.report()}", file=sys.stderr, flush=True)
        outcome = _failed(rank, error)
    except BaseException as error:
        outcome = _failed(rank, error)
    finally:
        _native.events.set_current_rank(None)
    outcome.trace = rank.trace()
    return outcome


def _failed(rank: Rank, error: BaseException) -> Outcome:
    # An error of the run comes from elsewhere, or is told to everyone anyway.
    own = not isinstance(error, EventsError) and not _is_remote(error)
    rank._native.fail(error, "main")
    if own:
        text = "".join(traceback.format_exception(error))
        add_origin(error, rank.id, "main", text)
    try:
        rank._native.finish()
    except BaseException:
        return Outcome(error=error, own=own)
    return Outcome(error=error, own=own)


def _is_remote(error: BaseException) -> bool:
    return any(note.startswith("raised by ") for note in getattr(error, "__notes__", ()))


def pickled(outcome: Outcome, rank: int) -> bytes:
    """Pickle how a rank ended; if that can't be, say so instead."""
    try:
        return dumps_failure(outcome)
    except Exception as error:
        problem = outcome.error or error
        text = f"what rank {rank} ended with can't be sent: {type(problem).__name__}: {problem}"
        return pickle.dumps(Outcome(error=RankFailedError(text, rank=rank), own=True))


def write_trace(path: str | None, outcomes: Sequence[Outcome]) -> None:
    """Write what ranks did, if that was noted; if that can't be done, warn: the run is over."""
    if path is None:
        return
    try:
        tracing.end(path, [outcome.trace for outcome in outcomes])
    except (OSError, FreestoneError) as error:
        text = f"the trace of the ranks could not be written to {path!r}: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=5)


def own_path(path: str | None, rank: int) -> str | None:
    """Return where a rank writes its trace that has no others: ``run-rank3.json``."""
    return path and f"{path.removesuffix('.json')}-rank{rank}.json"
