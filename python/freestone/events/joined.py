"""Ranks that are started one by one, on any machines, and meet by TCP; or come later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freestone import _native
from freestone.events import tracing
from freestone.events.outcome import Outcome, carry_out, own_path, write_trace
from freestone.events.rank import Rank
from freestone.events.settings import Settings


def invitation() -> _native.events.EventInvitation | None:
    """Return what the environment says of a run that this process is to join, if it does."""
    return _native.events.EventInvitation.from_environment()


def run(
    invited: _native.events.EventInvitation,
    main: Callable[..., Any],
    args: tuple[Any, ...],
    settings: Settings,
) -> list[Outcome]:
    """Run `main` as the rank that this process is; how it ended, beside nothing of the others."""
    native = invited.accept(settings.meet_timeout_s, settings.arena, settings.native())
    path = own_path(settings.trace, native.rank)
    outcome = carry_out(Rank(native, tracing.begin(path)), main, args)
    # By now others may have joined.
    outcomes = [Outcome() for _ in range(native.ranks)]
    outcomes[native.rank] = outcome
    # This process knows nothing of the others.
    write_trace(path, outcomes)
    return outcomes
