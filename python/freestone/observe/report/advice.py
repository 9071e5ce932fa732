"""What a run's figures say to a person: where the time went, and what to try."""

from __future__ import annotations

import numpy as np

from freestone.observe.report.series import Floats, Run
from freestone.units import format_count, format_nbytes, format_seconds

__all__ = ["advice", "path_summary", "summary"]

_WORTH = 0.1
# With so many calls, and so short a wait of each, it is not for executors to start.
_MANY = 1000
_STARTING_S = 0.001
_LARGER = "let each do more, for instance a batch of items."


def summary(run: Run) -> list[str]:
    """Tell the run in a few sentences."""
    attempts = sum(map(len, run.durations_s.values()))
    peak = float(run.slots.sum(axis=0).max()) if run.workers else 0.0
    lines = [
        f"{format_count(attempts, 'attempt')} at tasks in {format_seconds(run.seconds)}, on "
        f"{format_count(run.joined, 'worker')} with {format_count(round(peak), 'slot')} at most."
    ]
    if run.share.total > 0:
        lines.append(
            f"The slots spent {_percent(run.share.computing, run)} of their time computing, "
            f"{_percent(run.share.values, run)} opening and storing values, "
            f"{_percent(run.share.data, run)} waiting for data, "
            f"{_percent(run.share.executor, run)} waiting for an executor, "
            f"{_percent(run.share.manager, run)} waiting for the manager, and "
            f"{_percent(run.share.nothing, run)} with nothing to do."
        )
    if attempts:
        lines.append(
            f"A task that was ready waited {format_seconds(run.for_worker_s)} for a worker on "
            f"average, and {format_seconds(run.at_worker_s)} there until it began."
        )
    lines += path_summary(run)
    if run.moved:
        most = max(run.moved.values())
        total = format_nbytes(sum(run.moved.values()))
        lines.append(f"{total} went between workers, at most {format_nbytes(most)} in a pair.")
    failed = sum(run.ended.values()) - run.ended["done"]
    if failed:
        ways = ", ".join(f"{n:,} {how}" for how, n in run.ended.most_common() if how != "done")
        lines.append(f"Attempts that did not end well: {ways}.")
    if run.left:
        lines.append(f"Workers that left before the end: {run.left:,}.")
    return lines


def path_summary(run: Run) -> list[str]:
    """Tell what the run's length was made of, and what free workers would have saved."""
    path = run.path
    if path is None or path.seconds <= 0:
        return []
    label, running_s = next(iter(path.functions().items()))
    count = len(path.steps)
    text = (
        f"The critical path has {count:,} task{'s' if count > 1 else ''}, which ran for "
        f"{path.parts()['running'] / path.seconds:.0%} of its {format_seconds(path.seconds)}; "
        f"{label} for {running_s / path.seconds:.0%}."
    )
    if path.free_s is None:
        return [text]
    return [
        f"{text} With a free worker for each task at once the run takes at least "
        f"{format_seconds(path.free_s)}."
    ]


def advice(run: Run) -> list[str]:
    """Tell what to try, the largest gain first."""
    share = run.share
    found: list[tuple[float, str]] = []
    if share.total <= 0:
        return ["No worker was there: nothing can be said."]
    found += [(share.values / share.total, text) for text in _on_values(run)]
    found += [(share.data / share.total, text) for text in _on_data(run)]
    found += [(share.executor / share.total, text) for text in _on_executors(run)]
    found += [(share.manager / share.total, text) for text in _on_dispatch(run)]
    found += [(share.nothing / share.total, text) for text in _on_idleness(run)]
    sentences = [text for weight, text in sorted(found, reverse=True) if weight >= _WORTH]
    sentences += _on_disk(run)
    return sentences or ["Nothing stands out: most of the time went into computing."]


def _on_values(run: Run) -> list[str]:
    if not run.values_s:
        return []
    label, most = max(run.values_s.items(), key=lambda item: item[1])
    return [
        f"Executors opened inputs and stored outputs, longest for {label} "
        f"({format_seconds(most)}). Let calls that hand values to each other be one call, or hand "
        "over NumPy arrays and Arrow tables: they are mapped, and other objects are pickled."
    ]


def _on_data(run: Run) -> list[str]:
    return [
        "Slots waited for blocks to arrive. Let calls go where their inputs are (reduce by place "
        "with fs.reduce, make fewer and larger blocks), raise transfers_in and transfers_out, or "
        "give hot inputs replicas=2."
    ]


def _on_executors(run: Run) -> list[str]:
    durations = _all_durations(run)
    each_s = run.share.executor / len(durations)
    if len(durations) >= _MANY and float(np.median(durations)) < each_s < _STARTING_S:
        return [
            f"Calls lay at workers that had all they need, for {format_seconds(each_s)} each: what "
            "a process does between two calls takes longer than they do. Half of them are shorter "
            f"than {format_seconds(float(np.median(durations)))}: {_LARGER}"
        ]
    return [
        "Calls lay at workers that had all they need, and no executor had begun them: executors "
        "start, and import what functions need, before their first call. Keep one cluster open "
        "for several runs, and import less."
    ]


def _on_dispatch(run: Run) -> list[str]:
    median = format_seconds(float(np.median(_all_durations(run))))
    return [
        f"Slots were free while calls were ready. Half of the calls are shorter than {median}: "
        f"{_LARGER}"
    ]


def _all_durations(run: Run) -> Floats:
    return np.concatenate(list(run.durations_s.values()) or [np.zeros(1)])


def _on_idleness(run: Run) -> list[str]:
    used = run.busy.sum(axis=0)
    there = run.slots.sum(axis=0)
    texts = [
        f"There was nothing to run for part of the slots: on average {used.mean():.3g} of "
        f"{there.mean():.3g} were busy. Fewer workers would do, or more and smaller tasks."
    ]
    busy_spans = np.flatnonzero(used >= there / 2)
    tail = run.seconds - float(run.edges_s[busy_spans[-1] + 1]) if len(busy_spans) else 0.0
    if tail > run.seconds / 10 and run.durations_s:
        label, longest = max(run.durations_s.items(), key=lambda item: float(item[1].max()))
        texts.append(
            f"In the last {format_seconds(tail)} less than half of the slots were busy. The "
            f"longest task, {label}, took {format_seconds(float(longest.max()))}: start it earlier "
            "(priority=), or divide it."
        )
    return texts


def _on_disk(run: Run) -> list[str]:
    spilled = [worker for worker, cache in run.caches.items() if cache.disk.max(initial=0) > 0]
    if not spilled:
        return []
    most = max(float(run.caches[worker].disk.max()) for worker in spilled)
    workers = format_count(len(spilled), "worker")
    return [
        f"{workers} moved blocks to disk, up to {format_nbytes(int(most))}: raise "
        "memory=, or let go of results that are no longer needed."
    ]


def _percent(part: float, run: Run) -> str:
    return f"{part / run.share.total:.0%}"
