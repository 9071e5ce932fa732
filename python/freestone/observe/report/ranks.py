"""What ranks did, and how a job was resized, as a page: from a file in Chrome's format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from freestone.observe.report import lanes
from freestone.observe.report.document import document, section, table
from freestone.observe.report.lanes import Arrow, Span
from freestone.units import format_count, format_nbytes, format_seconds

__all__ = ["Activity", "figures", "load", "page", "resizes_of", "summary"]

_MAX_ROWS = 50
_PHASES = ("spawned", "moved", "switched")

Event = Mapping[str, Any]
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Its title, the names of its columns, and its rows."""


@dataclass
class Activity:
    """What some processes did, each thread of each in a row.

    Attributes
    ----------
    rows : list of str
        The threads.
    processes : list of str
        Of each row the process.
    spans : list of Span
        What they did.
    arrows : list of Arrow
        Events from who fired them to who took them.
    untaken : list of (str, str)
        Events that nobody took: the identifier, and the process that fired it.
    resizes : list of dict
        Resizes of a malleable job, as it has recorded them.
    seconds : float
        From the first thing to the last.
    """

    rows: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    untaken: list[tuple[str, str]] = field(default_factory=list)
    resizes: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


def load(events: Iterable[Event]) -> Activity:
    """Make it of events in Chrome's format.

    Raises
    ------
    KeyError, TypeError, ValueError
        If they are something else.
    """
    by_phase: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_phase[str(event["ph"])].append(event)
    done, fired, taken = by_phase["X"], by_phase["s"], by_phase["f"]
    timed = [*done, *fired, *taken]
    keys = sorted({(one["pid"], one["tid"]) for one in timed})
    processes, threads = _names(by_phase["M"])
    first_us = min((float(one["ts"]) for one in timed), default=0.0)
    found = Activity()
    for pid, tid in keys:
        several = sum(pid == other for other, _ in keys) > 1
        process = processes.get(pid, "job" if _is_job(done) else f"process {pid}")
        thread = threads.get((pid, tid), f"thread {tid}")
        found.rows.append(f"{process}, {thread}" if several else process)
        found.processes.append(process)
    index = {key: row for row, key in enumerate(keys)}
    for one in done:
        begin_s = (one["ts"] - first_us) / 1e6
        span = Span(
            row=index[one["pid"], one["tid"]],
            name=str(one["name"]),
            kind=_kind(one),
            begin_s=begin_s,
            end_s=begin_s + one["dur"] / 1e6,
            about=_about(one),
        )
        found.spans.append(span)
        found.seconds = max(found.seconds, span.end_s)
    found.spans.sort(key=lambda span: (span.row, span.begin_s, -span.end_s))
    found.resizes = resizes_of(done)
    ends = {one["id"]: one for one in taken}
    for one in fired:
        row, at_s = index[one["pid"], one["tid"]], (one["ts"] - first_us) / 1e6
        end = ends.get(one["id"])
        if end is None:
            found.untaken.append((str(one["name"]), found.processes[row]))
            continue
        to_s = (end["ts"] - first_us) / 1e6
        to = index[end["pid"], end["tid"]]
        found.arrows.append(Arrow(str(one["name"]), row, at_s, to, max(at_s, to_s)))
    return found


def _names(about: Iterable[Event]) -> tuple[dict[Any, str], dict[Any, str]]:
    processes: dict[Any, str] = {}
    threads: dict[Any, str] = {}
    for one in about:
        if one["name"] == "process_name":
            processes[one["pid"]] = str(one["args"]["name"])
        elif one["name"] == "thread_name":
            threads[one["pid"], one["tid"]] = str(one["args"]["name"])
    return processes, threads


def _is_job(done: Sequence[Event]) -> bool:
    return bool(done) and all(one.get("cat") == "resize" for one in done)


def resizes_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the figures of the resizes among events."""
    return [dict(one["args"]) for one in events if _is_resize(one)]


def _is_resize(one: Event) -> bool:
    return one.get("cat") == "resize" and "before" in (one.get("args") or {})


def _kind(one: Event) -> str:
    if one.get("cat") != "resize":
        return str(one.get("cat", "task"))
    return str(one["name"]) if one["name"] in _PHASES else "main"


def _about(one: Event) -> str:
    args = one.get("args") or {}
    if _is_resize(one):
        return f"by {args['method']}" + (f": {args['error']}" if args.get("error") else "")
    took, raised = args.get("took") or [], args.get("raised")
    parts = ["took " + ", ".join(map(str, took[:8]))] if took else []
    parts += ["has not ended"] if args.get("lasts") else []
    return "; ".join([*parts, *([f"raised {raised}"] if raised else [])])


# -- in words and figures -------------------------------------------------------------------------


def summary(found: Activity) -> list[str]:
    """Tell it in a few sentences."""
    if not found.spans:
        return ["Nothing was recorded."]
    processes = len(set(found.processes))
    lines = []
    if found.resizes:
        done = [one for one in found.resizes if not one.get("error")]
        waited_s = sum(one["switch_s"] for one in done)
        lines.append(
            f"{format_count(len(done), 'resize')} done and "
            f"{len(found.resizes) - len(done):,} failed; the job "
            f"waited {format_seconds(waited_s)} for them."
        )
    else:
        lines.append(
            f"{format_count(processes, 'process', 'processes')} in "
            f"{format_seconds(found.seconds)}; "
            f"{format_count(len(found.arrows), 'event')} taken, and "
            f"{len(found.untaken):,} fired that nobody took."
        )
    lines += _longest_wait(found)
    return lines


def _longest_wait(found: Activity) -> list[str]:
    waits: dict[tuple[str, str], float] = defaultdict(float)
    for span in found.spans:
        if span.kind in lanes.WAITS:
            waits[found.processes[span.row], span.name] += span.end_s - span.begin_s
    if not waits:
        return []
    (process, name), seconds = max(waits.items(), key=lambda item: item[1])
    share = seconds / found.seconds if found.seconds else 0.0
    return [f"Longest waited {process}: {format_seconds(seconds)}, {share:.0%}, in {name!r}."]


def figures(found: Activity) -> list[Table]:
    """Return what is known of processes, events, waits and resizes, as tables."""
    tables = [_resizes(found), _processes(found), _events(found), _waits(found)]
    return [one for one in tables if one[2]]


def _resizes(found: Activity) -> Table:
    head = ("resize", "at", "spawned in", "moved in", "switched in", "in all", "moved", "ended")
    rows = [
        (
            f"{one['before']} to {one['after']}",
            format_seconds(one["began_s"]),
            format_seconds(one["spawn_s"]),
            format_seconds(max(0.0, one["data_s"] - one["switch_s"])),
            format_seconds(one["switch_s"]),
            format_seconds(one["total_s"]),
            format_nbytes(one["moved_nbytes"]),
            one["error"] or "done",
        )
        for one in found.resizes[-_MAX_ROWS:]
    ]
    return "Resizes", head, rows


def _processes(found: Activity) -> Table:
    if found.resizes:
        return "Processes", (), []
    names = list(dict.fromkeys(found.processes))
    spent: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in names}
    for span in found.spans:
        kind = "wait" if span.kind in lanes.WAITS else span.kind
        spent[found.processes[span.row]][kind].append(span.end_s - span.begin_s)
    fired: dict[str, int] = defaultdict(int)
    taken: dict[str, int] = defaultdict(int)
    for arrow in found.arrows:
        fired[found.processes[arrow.from_row]] += 1
        taken[found.processes[arrow.to_row]] += 1
    for _, process in found.untaken:
        fired[process] += 1
    head = ("process", "tasks", "in tasks", "waits", "waited", "fired", "took")
    rows = [
        (
            name,
            f"{len(spent[name]['task']):,}",
            format_seconds(sum(spent[name]["task"])),
            f"{len(spent[name]['wait']):,}",
            format_seconds(sum(spent[name]["wait"])),
            f"{fired[name]:,}",
            f"{taken[name]:,}",
        )
        for name in names[:_MAX_ROWS]
    ]
    return "Processes", head, rows


def _events(found: Activity) -> Table:
    took: dict[str, list[float]] = defaultdict(list)
    for arrow in found.arrows:
        took[arrow.name].append(arrow.to_s - arrow.from_s)
    left: dict[str, int] = defaultdict(int)
    for name, _ in found.untaken:
        left[name] += 1
    names = sorted({*took, *left}, key=lambda name: -len(took[name]) - left[name])
    rows = []
    for name in names[:_MAX_ROWS]:
        after = took[name]
        mean = format_seconds(sum(after) / len(after)) if after else "-"
        most = format_seconds(max(after)) if after else "-"
        rows.append((name, f"{len(after) + left[name]:,}", f"{left[name]:,}", mean, most))
    return "Events", ("event", "fired", "nobody took", "taken after", "at most"), rows


def _waits(found: Activity) -> Table:
    waits = [span for span in found.spans if span.kind in lanes.WAITS]
    waits.sort(key=lambda span: span.begin_s - span.end_s)
    rows = [
        (
            span.name,
            found.rows[span.row],
            format_seconds(span.begin_s),
            format_seconds(span.end_s - span.begin_s),
            span.about or "-",
        )
        for span in waits[: _MAX_ROWS // 2]
    ]
    return "The longest waits", ("wait", "of", "at", "lasted", "ended by"), rows


# -- the page -------------------------------------------------------------------------------------


def page(found: Activity, title: str) -> str:
    """Return a page of it as HTML."""
    drawn = lanes.draw(found.rows, found.spans, found.arrows, (0.0, found.seconds))
    tables = [
        section(f"figures-{number}", escape(name), table(head, rows))
        for number, (name, head, rows) in enumerate(figures(found))
    ]
    lines = [f"<p>{escape(line)}</p>" for line in summary(found)]
    timeline = section("timeline", "Timeline", drawn + lanes.legend(found.spans))
    return document(title, [*lines, timeline, *tables])
