"""Spans of OpenTelemetry: one for each attempt at a task, below the span that has submitted it.

They are made in the program, of what the manager records, so that workers need no exporter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from freestone._native import __version__
from freestone.errors import ConfigurationError
from freestone.observe import columns

if TYPE_CHECKING:
    from freestone.observe.recorder import Recorder

__all__ = ["Spans"]

_INTERVAL_S = 1.0
# No record comes of tasks that were answered without a call: what is oldest is dropped.
_MAX_PARENTS = 1 << 17
# How often clocks are compared: between the two looks the thread may have had to wait.
_LOOKS = 5
_FIELDS = (
    *("kind", "label", "name", "worker", "ended"),
    *("attempt", "nbytes", "ready_ns", "start_ns", "duration_ns"),
)


class Spans:
    """Makes spans of what a cluster runs, once a second and at the end.

    Parameters
    ----------
    recorder
        Has what happens.

    Raises
    ------
    ConfigurationError
        When OpenTelemetry is not installed.
    """

    def __init__(self, recorder: Recorder) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            problem = "spans need OpenTelemetry: pip install 'freestone[otel]', or spans=False"
            raise ConfigurationError(problem, key="spans", origin="spans=True") from None
        self._api = trace
        self._tracer = trace.get_tracer("freestone", __version__)
        self._parents: dict[str, Any] = {}
        # What nobody's span has submitted begins a trace of its own.
        self._no_parent = trace.set_span_in_context(trace.INVALID_SPAN)
        self._watch = recorder.watch()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="freestone-spans", daemon=True)
        self._thread.start()

    def note(self, futures: Iterable[Any]) -> None:
        """Let calls that were submitted be children of the span that is current."""
        span = self._api.get_current_span()
        if not span.get_span_context().is_valid:
            return
        parent = self._api.set_span_in_context(span)
        for future in futures:
            self._parents.setdefault(future.name, parent)
        while len(self._parents) > _MAX_PARENTS:
            self._parents.pop(next(iter(self._parents)), None)

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            self._take()

    def _take(self) -> None:
        # Both clocks go on while the program is suspended, the times of records do not.
        late_ns = _ahead_ns()
        for rows, found in self._watch.take():
            # Records of profiles have few of these fields, and come by themselves.
            needed = {field: found[field] for field in _FIELDS if field in found}
            for record in columns.records(rows, needed):
                if record["kind"] == "task":
                    self._make(record, late_ns)

    def _make(self, record: Mapping[str, Any], late_ns: int) -> None:
        name, ended = record["name"], record["ended"]
        # Another attempt may follow one that did not end well.
        parent = self._parents.pop(name, None) if ended == "done" else self._parents.get(name)
        begin_ns = record["start_ns"] + late_ns
        span = self._tracer.start_span(
            record["label"],
            context=parent or self._no_parent,
            start_time=begin_ns,
            attributes={
                "code.function.name": record["label"],
                "freestone.task.name": name,
                "freestone.task.attempt": record["attempt"],
                "freestone.task.ended": ended,
                "freestone.worker": record["worker"],
                "freestone.output.size": record["nbytes"],
                "freestone.waited_s": max(0, record["start_ns"] - record["ready_ns"]) / 1e9,
            },
        )
        if ended != "done":
            span.set_status(self._api.StatusCode.ERROR, ended)
        span.end(begin_ns + record["duration_ns"])

    def close(self) -> None:
        """Make the last spans; who exports them flushes them by itself."""
        self._ended.set()
        self._thread.join()
        self._take()
        self._watch.stop()


def _ahead_ns() -> int:
    """Return how far the clock of the day is ahead of that of records, by the quickest look."""

    def look() -> tuple[int, int]:
        before_ns, day_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        return after_ns - before_ns, day_ns - after_ns

    return min(look() for _ in range(_LOOKS))[1]
