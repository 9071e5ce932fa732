"""Tasks as spans of OpenTelemetry."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

import freestone as fs
from freestone.errors import ConfigurationError
from freestone.observe import spans
from freestone.observe.columns import encoded
from freestone.observe.spans import Spans

OPTIONS = {"workers": 1, "executors": 1, "memory": "64MiB", "disk": "1GiB"}


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What is exported by OpenTelemetry's own SDK, into memory."""
    api = pytest.importorskip("opentelemetry.trace", reason="no OpenTelemetry")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    # The API lets a process set its provider once.
    monkeypatch.setattr(api, "get_tracer", provider.get_tracer)
    yield found
    provider.shutdown()


def square(x: int) -> int:
    return x * x


def fail() -> None:
    raise ValueError("no")


def by_name(exporter: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


def test_a_task_is_a_span_below_the_one_that_has_submitted_it(exporter: Any) -> None:
    from opentelemetry import trace

    tracer = trace.get_tracer("test")
    before_ns = time.time_ns()
    with fs.Cluster(spans=True, **OPTIONS) as cluster:
        with tracer.start_as_current_span("analysis") as analysis:
            future = cluster.submit(square, 3)
            futures = cluster.map(square, range(4, 6))
            cluster.gather([future, *futures])
        cluster.submit(pow, 2, 3).result()
    found = by_name(exporter)
    squares = {span.attributes["freestone.task.name"]: span for span in found["square"]}
    assert squares.keys() == {one.name for one in (future, *futures)}
    inside = analysis.get_span_context()
    for span in squares.values():
        assert (span.parent.span_id, span.context.trace_id) == (inside.span_id, inside.trace_id)
        assert before_ns - 10**9 < span.start_time <= span.end_time < time.time_ns() + 10**9
        assert span.status.is_unset
        about = span.attributes
        assert about["code.function.name"] == "square"
        assert about["freestone.worker"].startswith("worker-")
        assert (about["freestone.task.ended"], about["freestone.task.attempt"]) == ("done", 1)
        assert about["freestone.waited_s"] >= 0
    # Nobody's span has submitted it.
    (alone,) = found["pow"]
    assert alone.parent is None


def test_each_attempt_is_a_span_and_failures_say_how_they_ended(exporter: Any) -> None:
    from opentelemetry import trace

    with fs.Cluster(spans=True, **OPTIONS) as cluster:
        with trace.get_tracer("test").start_as_current_span("analysis") as analysis:
            future = cluster.submit(fail, retries=1)
        with pytest.raises(ValueError, match="no"):
            future.result()
    found = by_name(exporter)["fail"]
    assert [span.attributes["freestone.task.attempt"] for span in found] == [1, 2]
    for span in found:
        assert (span.status.status_code.name, span.status.description) == ("ERROR", "raised")
        assert span.parent.span_id == analysis.get_span_context().span_id


def test_reductions_and_calls_with_several_outputs_have_parents(exporter: Any) -> None:
    from opentelemetry import trace

    spans = trace.get_tracer("test").start_as_current_span("analysis")
    with fs.Cluster(spans=True, **OPTIONS) as cluster, spans as analysis:
        client = cluster.client
        total = client.reduce(max, [cluster.submit(square, n) for n in range(3)], 3)
        divided = client.submit(divmod, (7, 2), {}, {}, 2)
        assert (total.result(), cluster.gather(list(divided))) == (4, [3, 1])
    found = by_name(exporter)
    parents = {span.parent.span_id for name in ("max", "divmod") for span in found[name]}
    assert parents == {analysis.get_span_context().span_id}


def test_clocks_are_compared_again_where_that_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    # The thread has to wait for five seconds between its first looks at the clocks.
    times = iter([0, 5 * 10**9, *range(5 * 10**9 + 1, 5 * 10**9 + 9)])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(times))
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 + 5 * 10**9)
    assert 10**18 - 10 < spans._ahead_ns() < 10**18


def test_without_the_setting_nothing_is_exported(exporter: Any) -> None:
    with fs.Cluster(**OPTIONS) as cluster:
        cluster.submit(square, 3).result()
        assert cluster.client.spans is None
    assert exporter.get_finished_spans() == ()


def test_without_opentelemetry_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'freestone\[otel\]'"):
        fs.Cluster(spans=True, **OPTIONS)


class Taken:
    """A recorder that has some records."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.parts = [(len(records), encoded(records))] if records else []

    def watch(self) -> Taken:
        return self

    def take(self) -> list[Any]:
        parts, self.parts = self.parts, []
        return parts

    def stop(self) -> None:
        pass


def test_parents_of_calls_that_never_ran_are_dropped_in_the_end(
    exporter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry import trace

    class Submitted:
        def __init__(self, name: str) -> None:
            self.name = name

    monkeypatch.setattr("freestone.observe.spans._MAX_PARENTS", 2)
    spans = Spans(Taken())  # type: ignore[arg-type]
    with trace.get_tracer("test").start_as_current_span("analysis"):
        spans.note(Submitted(name) for name in "abc")
    spans.note([Submitted("d")])
    assert list(spans._parents) == ["b", "c"]
    spans.close()
