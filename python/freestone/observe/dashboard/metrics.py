"""Figures of a cluster in Prometheus' text format."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from freestone.errors import FormatError
from freestone.observe import chrome
from freestone.observe.forms import PARTIAL
from freestone.observe.report.ranks import resizes_of
from freestone.observe.rings import Counts, read_counts

__all__ = ["CONTENT_TYPE", "OTHERS", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Each label is a time series for ever, and a program may make any number of functions.
MAX_FUNCTIONS = 200
OTHERS = "(others)"

Labels = Mapping[str, str]
Sample = tuple[Labels, float]

# Files of resizes are small; those of ranks are larger, or hold none.
MAX_RESIZES_NBYTES = 1 << 20
_RANK = {
    "fired": ("events_fired_total", "Events that a rank fired, one for each target."),
    "taken": ("events_taken_total", "Events that a rank's tasks and waits took."),
    "tasks": ("tasks_total", "Tasks that a rank ran."),
    "waits": ("waits_total", "Waits for events that are over."),
    "waited_ns": ("wait_seconds_total", "How long these waits took."),
}

_STATES = ("waiting", "ready", "assigned")
_OUTCOMES = ("done", "failed")
# Figures of a run: the name, the unit and kind in it, and what it means.
_RUN = {
    "answered": ("submissions_answered_total", "Submissions answered by a live or kept output."),
    "retried": ("attempts_retried_total", "Attempts that were made again."),
    "recovered": ("tasks_recovered_total", "Tasks run again because their output was lost."),
    "stolen": ("tasks_stolen_total", "Tasks given back by a worker and run by another."),
    "transfers": ("transfers_total", "Blocks sent between workers."),
    "transferred_nbytes": ("transferred_bytes_total", "Bytes of blocks sent between workers."),
    "moving": ("blocks_moving", "Blocks of collections in transfer after a resize."),
    "blocks": ("blocks", "Entries of the manager's table of blocks."),
    "inline_nbytes": ("inline_bytes", "Bytes of small values that the manager holds."),
}
_WORKER = {
    "slots": ("executors", "Calls that a worker can run at once."),
    "assigned": ("assigned_tasks", "Tasks that a worker holds."),
    "running": ("running_calls", "Calls that run on a worker."),
    "waiting": ("waiting_calls", "Calls that wait on a worker."),
    "memory_nbytes": ("memory_bytes", "Bytes of blocks in the memory tier."),
    "memory_quota": ("memory_quota_bytes", "Bytes that may be in the memory tier."),
    "disk_nbytes": ("disk_bytes", "Bytes of blocks in the disk tier."),
    "rss": ("resident_bytes", "Resident memory of a worker of this machine and its executors."),
    "done": ("calls_done_total", "Calls that a worker ran to their end."),
    "sent_nbytes": ("sent_bytes_total", "Bytes of blocks sent to peers."),
    "received_nbytes": ("received_bytes_total", "Bytes of blocks received from peers."),
    "executors_restarted": (
        "executor_restarts_total",
        "Executors started in place of dead ones.",
    ),
}


def exposition(
    figures: Mapping[str, Any],
    overview: Mapping[str, Any],
    workers: Sequence[Mapping[str, Any]],
    *,
    started_s: float,
    version: str,
    traces: Sequence[str] = (),
) -> str:
    """Return figures as Prometheus reads them.

    Parameters
    ----------
    figures, overview
        What the manager answers to ``statistics`` and ``overview``.
    workers
        What the page shows of each worker.
    started_s
        When the cluster was opened, in seconds since 1970.
    version
        Freestone's.
    traces
        What the program writes of ranks and of resizes: folders of rings, and files.
    """
    lines = [
        *_family("info", "Which freestone this is.", [({"version": version}, 1)]),
        *_family("start_time_seconds", "When the cluster was opened.", [({}, started_s)]),
        *_functions(overview),
    ]
    for key, (name, meaning) in _RUN.items():
        lines += _family(name, meaning, [({}, figures[key])])
    lines += _family("workers", "Workers that have joined.", [({}, len(workers))])
    for key, (name, meaning) in _WORKER.items():
        samples = (
            ({"worker": worker["worker"], "host": worker["host"]}, worker[key])
            for worker in workers
            if worker[key] is not None
        )
        lines += _family(f"worker_{name}", meaning, samples)
    lines += [*_ranks(traces), *_resizes(traces)]
    return "\n".join(lines) + "\n"


def _ranks(traces: Iterable[str]) -> Iterator[str]:
    """Yield what ranks of runs that go on have done: each writes it where all can read it."""
    counts: list[tuple[Labels, Counts]] = []
    for folder, name in _named(filter(os.path.isdir, traces)):
        run = name.removesuffix(PARTIAL)
        with contextlib.suppress(OSError, FormatError):
            found = read_counts(folder)
            counts += [({"run": run, "rank": str(rank)}, one) for rank, one in found.items()]
    for key, (name, meaning) in _RANK.items():
        scale = 1e9 if key.endswith("_ns") else 1
        samples = [(labels, getattr(one, key) / scale) for labels, one in counts]
        yield from _family(f"rank_{name}", meaning, samples) if samples else ()


def _resizes(traces: Iterable[str]) -> Iterator[str]:
    """Yield how often jobs were resized, and how many processes they have."""
    ended: list[Sample] = []
    waited: list[Sample] = []
    processes: list[Sample] = []
    found = {path: resizes for path in traces if (resizes := _resizes_of(path))}
    for path, name in _named(found):
        resizes, job = found[path], {"job": name}
        failed = sum(bool(one.get("error")) for one in resizes)
        ended.append(({**job, "outcome": "done"}, len(resizes) - failed))
        ended.append(({**job, "outcome": "failed"}, failed))
        waited.append((job, sum(float(one["switch_s"]) for one in resizes)))
        last = resizes[-1]
        processes.append((job, int(last["before" if last.get("error") else "after"])))
    if ended:
        yield from _family("resizes_total", "Resizes of malleable jobs.", ended)
        yield from _family("resize_wait_seconds_total", "What jobs waited for resizes.", waited)
        yield from _family("job_processes", "Processes of malleable jobs.", processes)


def _named(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return paths with the names of their files, or their whole paths where names are the same.

    Prometheus takes no answer in which two samples have the same labels.
    """
    found = [(path, os.path.basename(path)) for path in paths]
    count = Counter(name for _, name in found)
    return [(path, name if count[name] == 1 else path) for path, name in found]


def _resizes_of(path: str) -> list[dict[str, Any]]:
    try:
        if os.path.isdir(path) or os.path.getsize(path) > MAX_RESIZES_NBYTES:
            return []
        return resizes_of(chrome.read(path))
    except (OSError, FormatError):
        # It was deleted, or is another's.
        return []


def _functions(overview: Mapping[str, Any]) -> Iterator[str]:
    functions = _by_label(overview["functions"])
    tasks = (
        ({"function": label, "state": state}, sums[state])
        for label, sums in functions.items()
        for state in _STATES
    )
    yield from _family("tasks", "Unfinished tasks.", tasks)
    calls = (
        ({"function": label, "outcome": outcome}, sums[outcome])
        for label, sums in functions.items()
        for outcome in _OUTCOMES
    )
    yield from _family("calls_total", "Calls that ended, well or for good.", calls)
    nbytes = (({"function": label}, sums["nbytes"]) for label, sums in functions.items())
    yield from _family("block_bytes", "Bytes of outputs, each block counted once.", nbytes)
    yield from _durations(functions, overview["duration_bounds_ns"])


def _durations(functions: Mapping[str, Mapping[str, Any]], bounds_ns: Sequence[int]) -> list[str]:
    name = "freestone_attempt_duration_seconds"
    lines = _header(name, "histogram", "How long attempts ran in their executors.")
    bounds = [*(f"{bound / 1e9:g}" for bound in bounds_ns), "+Inf"]
    for label, sums in functions.items():
        count = 0
        for bound, amount in zip(bounds, sums["durations"], strict=True):
            count += amount
            lines.append(_line(f"{name}_bucket", {"function": label, "le": bound}, count))
        lines.append(_line(f"{name}_sum", {"function": label}, sums["busy_ns"] / 1e9))
        lines.append(_line(f"{name}_count", {"function": label}, count))
    return lines


def _by_label(functions: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Sum functions of one name up, and those after the first so many names.

    They come in the order in which they were defined: what was counted stays with its name. Blocks
    of which no function is known are among the others.
    """
    found: dict[str, dict[str, Any]] = {}
    for function in functions:
        label = function["label"]
        if not label or (label not in found and len(found) >= MAX_FUNCTIONS):
            label = OTHERS
        sums = found.setdefault(label, {"durations": [0] * len(function["durations"])})
        for key in (*_STATES, *_OUTCOMES, "nbytes", "busy_ns"):
            sums[key] = sums.get(key, 0) + function[key]
        pairs = zip(sums["durations"], function["durations"], strict=True)
        sums["durations"] = [former + amount for former, amount in pairs]
    return found


def _family(name: str, meaning: str, samples: Iterable[Sample]) -> list[str]:
    kind = "counter" if name.endswith("_total") else "gauge"
    name = f"freestone_{name}"
    return [
        *_header(name, kind, meaning),
        *(_line(name, labels, value) for labels, value in samples),
    ]


def _header(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def _line(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    return f"{name}{{{shown}}} {value!r}" if shown else f"{name} {value!r}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
