"""A span for each task."""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import freestone as fs

if __name__ == "__main__":
    spans = InMemorySpanExporter()
    trace.set_tracer_provider(TracerProvider())
    trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(spans))
    with fs.Cluster(executors=1, spans=True) as cluster:
        cluster.gather(cluster.map(abs, [-1, -2]))
    assert len(spans.get_finished_spans()) == 2
