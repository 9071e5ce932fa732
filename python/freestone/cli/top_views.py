"""What ``freestone top`` shows besides its first screen: the page's views as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freestone.cli.output import table
from freestone.errors import UsageError
from freestone.units import format_nbytes, format_seconds

__all__ = ["VIEWS", "Ask", "View", "keys_line"]

Ask = Callable[[str], Any]
"""Gets the answer to a question of the page."""

# A terminal has no more lines.
_LISTED = 100
_LOG_LINES = 8


@dataclass(frozen=True)
class View:
    """Something that a key shows.

    Attributes
    ----------
    name : str
        For the line of keys.
    lines : callable
        Makes its lines of the page's answers and the number of the row that was chosen.
    """

    name: str
    lines: Callable[[Ask, int], list[str]]


def keys_line(shown: str) -> str:
    """Name the keys, with that of the view that is shown in brackets."""
    names = {"o": "overview", **{key: view.name for key, view in VIEWS.items()}}
    texts = [f"[{key} {name}]" if key == shown else f"{key} {name}" for key, name in names.items()]
    return "  ".join([*texts, "q quit"])


def _tasks(ask: Ask, chosen: int) -> list[str]:
    answer = ask("tasks")
    tasks = answer["tasks"][:_LISTED]
    if not tasks:
        return ["Nothing waits and nothing runs."]
    chosen = min(chosen, len(tasks) - 1)
    rows = [
        (
            f"{'>' if place == chosen else ' '} {task['call'][:44]}",
            task["stage"],
            "-" if task["since_s"] is None else format_seconds(answer["now_s"] - task["since_s"]),
            task["worker"] or "-",
            task["waits_for"] or (f"{task['missing']} inputs" if task["missing"] else ""),
            task["name"][:8],
        )
        for place, task in enumerate(tasks)
    ]
    why = _explanation(ask, tasks[chosen]["name"])
    head = ("  call", "stage", "since", "worker", "waits for", "name")
    first, *listed = _lines(head, rows)
    return [first, *_around(listed, chosen), "", *why, "", "j and k, or arrows, choose a task."]


def _explanation(ask: Ask, name: str) -> list[str]:
    try:
        lines: list[str] = ask(f"explain?name={name}")["text"].splitlines()
    except UsageError:
        # It ended and was forgotten since it was listed.
        return ["It has ended."]
    return lines


def _around(lines: list[str], chosen: int) -> list[str]:
    """Return a dozen lines with the one that is chosen."""
    first = max(0, min(chosen - 6, len(lines) - 12))
    return lines[first : first + 12]


def _memory(ask: Ask, chosen: int) -> list[str]:
    answer = ask("blocks")
    functions = [
        (
            one["label"][:40],
            one["blocks"],
            format_nbytes(one["nbytes"]),
            format_nbytes(one["peak_nbytes"]),
            format_nbytes(one["resident_nbytes"]) if one["resident_nbytes"] else "-",
        )
        for one in answer["functions"][:_LISTED]
    ]
    executors = [
        (
            f"{one['worker']}, process {one['pid']}",
            "-" if one["resident"] is None else format_nbytes(one["resident"]),
            format_nbytes(one["peak_nbytes"]),
        )
        for one in answer["executors"][:_LISTED]
    ]
    head = ("function", "blocks", "bytes", "at most", "raised an executor to")
    return [
        *_lines(head, functions, "There are no blocks."),
        "",
        *_lines(("executor", "has", "had at most"), executors, "No executor was measured."),
    ]


def _transfers(ask: Ask, chosen: int) -> list[str]:
    rows = [
        (one["source"], one["target"], one["count"], format_nbytes(one["nbytes"]))
        for one in ask("transfers")["pairs"]
    ]
    return _lines(("from", "to", "transfers", "bytes"), rows, "Nothing went between workers.")


def _failures(ask: Ask, chosen: int) -> list[str]:
    answer = ask("failures")
    lines = []
    for one in answer["failures"][:_LISTED]:
        ago = (
            "" if one["at_s"] is None else f", {format_seconds(answer['now_s'] - one['at_s'])} ago"
        )
        lines.append(f"{one['label']} {one['ended']} on {one['worker']}{ago}: {one['message']}")
        lines += [f"    {line}" for line in one["traceback"].splitlines()]
    return lines or ["No task has failed."]


def _logs(ask: Ask, chosen: int) -> list[str]:
    lines = []
    for one in ask("logs")["logs"]:
        lines.append(f"{one['label'] or 'no task'} on {one['worker']}")
        lines += [f"    {line}" for line in one["text"].splitlines()[-_LOG_LINES:]]
    return lines or ["Nothing was printed."]


def _profile(ask: Ask, chosen: int) -> list[str]:
    answer = ask("profile")
    rows = [
        (
            f"{one['function']} {one['where'] and '(' + one['where'] + ')'}".strip(),
            format_seconds(one["self_s"]),
            format_seconds(one["total_s"]),
        )
        for one in answer["times"]
    ]
    lines = _lines(("function", "in itself", "with what it calls"), rows) if rows else []
    return [answer["title"], *lines]


def _lines(head: Sequence[str], rows: Sequence[Sequence[object]], nothing: str = "") -> list[str]:
    return table(head, rows).splitlines() if rows else [nothing]


VIEWS: Mapping[str, View] = {
    "t": View("tasks", _tasks),
    "m": View("memory", _memory),
    "x": View("transfers", _transfers),
    "f": View("failures", _failures),
    "l": View("logs", _logs),
    "p": View("profile", _profile),
}
"""By their keys."""
