"""The settings of events in the reference: `python -m tests.docs.event_settings` writes them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from freestone import _native
from freestone.events.settings import PREFIX, Settings

PAGE = Path(__file__).parents[2] / "docs/reference/event-settings.md"
HEAD = """\
# Settings of events

What a program gives to `freestone.events.run`, `fse_config` or `Config` goes before the
environment; numbers of bytes may have a unit (`64MiB`). A value that makes no sense is an error
that names it.

| setting | environment | default | meaning |
| --- | --- | --- | --- |
"""
LIMITS = """
How many ranks there are, and where [ranks that are started one by one](../howto/machines.md) meet,
is said where they are started.

## Times and bounds

They are variables of the environment, the same in every language, read when a run begins. Those
marked *all* have to be the same on all ranks: ranks that differ, or are of different versions, get
an error that names the rank, the setting and both values.

| environment | default | unit | same on | meaning |
| --- | --- | --- | --- | --- |
"""

HELD = """
## What a slow rank holds

While the tasks of a rank take less than others fire at it, its memory and theirs stay bounded: then
`fire` waits at the senders. The events that tasks have at that moment are not counted.

| where | what | at most |
| --- | --- | --- |
| the slow rank | events that no task has yet | `inbox`, and `backlog` ready tasks |
| a sender, one machine | the ring to that rank | `RING_MAX`; for many ranks `RINGS` by the pairs |
| | its large events, to all ranks | `arena` |
| a sender, TCP | what waits to be written | `SEND_BUFFER`, and a frame of 264 KiB |
| | the system's buffers | what it gives: 4 MiB to send, 6 MiB to receive |
| a sender, MPI | what is on its way | `WINDOW`, or one larger event |

Each thread that fires has one event more. Events for which *no task waits* are kept where they have
arrived, without a bound, since a task may come for them; `stuck_s` reports them.
"""


def page() -> str:
    """Make the page from the types that hold the settings."""
    rows = [
        f"| `{field.name}` | `{PREFIX}{field.name.upper()}` | {_default(field.default)} "
        f"| {field.metadata['help']} |"
        for field in dataclasses.fields(Settings)
    ]
    limits = [
        f"| `{variable}` | `{default}` | {unit} | {'all' if is_shared else ''} | {about} |"
        for variable, unit, default, about, is_shared in _native.events.limit_rows()
    ]
    return HEAD + "\n".join(rows) + "\n" + LIMITS + "\n".join(limits) + "\n" + HELD


def _default(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 << 20:
        return f"`{value >> 20}MiB`"
    return "" if value is None else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
