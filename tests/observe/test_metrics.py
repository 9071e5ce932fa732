"""What Prometheus scrapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

import freestone as fs
from freestone.observe import chrome
from freestone.observe.dashboard import metrics
from freestone.observe.dashboard.server import RefusedError, Server
from freestone.observe.dashboard.views import Views
from freestone.observe.rings import Ring, Span
from tests.observe.test_dashboard import OPTIONS, ask, fail, square

GRAFANA = Path(__file__).parents[2] / "docs/howto/grafana.json"


def parsed(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(families: dict[str, Metric], name: str, **labels: str) -> float:
    """Return the one sample of a name whose labels include these."""
    found = [
        sample.value
        for family in families.values()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert len(found) == 1, (name, labels, found)
    return found[0]


@pytest.fixture(scope="module")
def families() -> Iterable[dict[str, Metric]]:
    """Scraped from a cluster that ran 20 calls, answered one and failed another."""
    with fs.Cluster(**OPTIONS) as cluster:
        made = cluster.submit(bytes, 1 << 20)
        cluster.gather([made, *cluster.map(square, range(20))])
        assert isinstance(cluster.submit(fail, 1).exception(), ZeroDivisionError)
        assert cluster.submit(bytes, 1 << 20).result() == bytes(1 << 20)
        reply = ask(str(cluster.dashboard_link), "metrics")
        assert (reply.status, reply.headers["Content-Type"]) == (200, metrics.CONTENT_TYPE)
        yield parsed(reply.body.decode())


def test_calls_are_counted_by_function_and_outcome(families: dict[str, Metric]) -> None:
    count = "freestone_calls_total"
    assert value(families, count, function="square", outcome="done") == 20
    assert value(families, count, function="square", outcome="failed") == 0
    assert value(families, count, function="fail", outcome="failed") == 1
    assert value(families, "freestone_submissions_answered_total") == 1
    assert value(families, "freestone_tasks", function="square", state="waiting") == 0


def test_ranks_and_resizes_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "run.json.partial"
    folder.mkdir()
    ring = Ring(str(folder / "rank-1"), half_nbytes=1000)
    for number in range(100):
        # Most are not in the ring any more.
        ring.add(Span("fire x", "fire", 0, 0, 1, fired=((0, "x", number), (1, "x", number))))
    ring.add(Span("wait for y", "wait", 0, 0, 3 * 10**9 // 2, taken=((0, "y", 0),)))
    resizes = [
        {"before": 2, "after": 4, "switch_s": 0.5, "error": None},
        {"before": 4, "after": 8, "switch_s": 0.25, "error": "no room"},
    ]
    about = {"ph": "X", "name": "resize", "cat": "resize", "pid": 0, "tid": 0, "ts": 0, "dur": 1}
    chrome.write(tmp_path / "metrics.json", [{**about, "args": one} for one in resizes], "ms")
    chrome.begin(str(tmp_path / "run.json"), str(folder))
    try:
        with fs.Cluster(**OPTIONS) as cluster:
            found = parsed(ask(str(cluster.dashboard_link), "metrics").body.decode())
    finally:
        chrome.end(str(tmp_path / "run.json"))
    rank, job = {"run": "run.json", "rank": "1"}, {"job": "metrics.json"}
    assert value(found, "freestone_rank_events_fired_total", **rank) == 200
    assert value(found, "freestone_rank_events_taken_total", **rank) == 1
    assert value(found, "freestone_rank_tasks_total", **rank) == 0
    assert value(found, "freestone_rank_wait_seconds_total", **rank) == 1.5
    assert value(found, "freestone_resizes_total", **job, outcome="done") == 1
    assert value(found, "freestone_resizes_total", **job, outcome="failed") == 1
    assert value(found, "freestone_resize_wait_seconds_total", **job) == 0.75
    assert value(found, "freestone_job_processes", **job) == 4


def test_jobs_whose_files_have_one_name_have_their_paths(tmp_path: Path) -> None:
    one = {"before": 2, "after": 4, "switch_s": 0.5, "error": None}
    event = {"ph": "X", "name": "resize", "cat": "resize", "pid": 0, "tid": 0, "ts": 0, "dur": 1}
    paths = [tmp_path / place for place in ("a/job.json", "b/job.json", "other.json")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        chrome.write(path, [{**event, "args": one}], "ms")
    found = scraped([], [str(path) for path in paths])
    for job in (str(paths[0]), str(paths[1]), "other.json"):
        assert value(found, "freestone_job_processes", job=job) == 4


def test_durations_are_a_histogram_in_seconds(families: dict[str, Metric]) -> None:
    family = families["freestone_attempt_duration_seconds"]
    assert family.type == "histogram"
    samples = [one for one in family.samples if one.labels["function"] == "square"]
    buckets = [one for one in samples if one.name.endswith("_bucket")]
    assert [one.labels["le"] for one in buckets][:3] == ["0.0001", "0.0005", "0.001"]
    counts = [one.value for one in buckets]
    assert counts == sorted(counts)
    assert (buckets[-1].labels["le"], counts[-1]) == ("+Inf", 20)
    assert value(families, f"{family.name}_count", function="square") == 20
    assert value(families, f"{family.name}_sum", function="square") > 0


def test_workers_have_their_figures_in_bytes(families: dict[str, Metric]) -> None:
    assert value(families, "freestone_workers") == 1
    assert value(families, "freestone_worker_executors", worker="worker-0") == 1
    assert value(families, "freestone_block_bytes", function="bytes") >= 1 << 20
    assert value(families, "freestone_worker_resident_bytes", worker="worker-0") > 1 << 20


def test_names_and_units_follow_the_conventions(families: dict[str, Metric]) -> None:
    """Base units, ``_total`` of counters alone, and a description of each."""
    for name, family in families.items():
        assert re.fullmatch(r"freestone_[a-z_]+", name), name
        assert family.documentation.endswith("."), name
        assert not re.search("_(ns|ms|mib|nbytes)(_|$)", name), name
        totals = {sample.name.endswith("_total") for sample in family.samples}
        assert totals == {family.type == "counter"}, name


def test_the_dashboard_for_grafana_asks_for_what_there_is(families: dict[str, Metric]) -> None:
    names = {sample.name for family in families.values() for sample in family.samples}
    panels = json.loads(GRAFANA.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    asked = {name for text in expressions for name in re.findall(r"freestone_\w+", text)}
    assert len(expressions) >= len(panels) > 0
    assert asked <= names


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_nobody_else_may_scrape(cluster: fs.Cluster, headers: dict[str, str]) -> None:
    link = str(cluster.dashboard_link)
    assert ask(link, "metrics", **headers).status == 403
    assert ask(f"{link[:-2]}x/", "metrics").status == 404


def test_scraping_has_the_manager_record_nothing() -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        server = Server(Views(cluster), "token", ())
        server.get("metrics", {})
        assert not server.observe_while_asked()
        cluster.submit(square, 1).result()
        assert cluster.client.manager.take_columns() == []
    with pytest.raises(RefusedError, match="closed"):
        server.get("metrics", {})


def figures_of(label: str, done: int = 1) -> dict[str, Any]:
    keys = ("waiting", "ready", "assigned", "failed", "nbytes")
    durations = [done, 0]
    return {"label": label, "done": done, "busy_ns": 0, "durations": durations} | dict.fromkeys(
        keys, 0
    )


def scraped(functions: list[dict[str, Any]], traces: Sequence[str] = ()) -> dict[str, Metric]:
    figures = dict.fromkeys(metrics._RUN, 0)
    overview = {"functions": functions, "duration_bounds_ns": [1000]}
    text = metrics.exposition(figures, overview, [], started_s=0.0, version="1", traces=traces)
    return parsed(text)


def test_any_label_may_name_a_function() -> None:
    label = 'a "quoted"\nname{le="1"} \\n'
    families = scraped([figures_of(label)])
    assert value(families, "freestone_calls_total", function=label, outcome="done") == 1


def test_functions_have_a_bounded_number_of_series_and_none_moves() -> None:
    many = [figures_of(f"f{number}", number) for number in range(metrics.MAX_FUNCTIONS + 2)]
    before, after = scraped(many[:-2]), scraped([*many, figures_of("f7", 5)])
    count = "freestone_calls_total"
    assert value(before, count, function="f7", outcome="done") == 7
    assert value(after, count, function="f7", outcome="done") == 12
    others = sum(range(metrics.MAX_FUNCTIONS, metrics.MAX_FUNCTIONS + 2))
    assert value(after, count, function=metrics.OTHERS, outcome="done") == others
    assert len(after["freestone_calls"].samples) == 2 * (metrics.MAX_FUNCTIONS + 1)
