"""Who may ask for the live page, and what it reports."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import threading
import time
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import freestone as fs
from freestone.errors import ConfigurationError
from freestone.observe import dashboard
from freestone.observe.dashboard.views import Views
from tests import waiting

OPTIONS = {"executors": 1, "memory": "64MiB", "disk": "1GiB"}


class Reply:
    """What a request got."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.body = response.status, response.read()
        self.headers = response.headers

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(link: str, path: str = "", method: str = "GET", body: Any = None, **headers: str) -> Reply:
    parts = urlsplit(link)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    with contextlib.closing(connection):
        sent = None if body is None else json.dumps(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, f"{parts.path}{path}", sent, given)
        return Reply(connection.getresponse())


def act(link: str, action: str, body: Any, **headers: str) -> Reply:
    headers = {"Content_Type": "application/json", **headers}
    return ask(link, f"action/{action}", "POST", body, **headers)


@pytest.fixture(scope="module")
def link(cluster: fs.Cluster) -> str:
    assert cluster.dashboard_link is not None
    return cluster.dashboard_link


def square(x: int) -> int:
    return x * x


def fail(x: int) -> float:
    return x / 0


def wait_for_file(path: str) -> bool:
    return waiting.until(lambda: os.path.exists(path))


# -- who may ask ----------------------------------------------------------------------------------


def test_the_page_and_all_that_it_needs_are_served(link: str) -> None:
    page = ask(link)
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    for name in (
        "app.js",
        "views.js",
        "timeline.js",
        "dom.js",
        "net.js",
        "profile.js",
        "style.css",
        "icon.svg",
    ):
        assert ask(link, name).status == 200, name


@pytest.mark.parametrize(
    "path", ["nothing", "data/nothing", "../", "%2e%2e/views.py", "//etc/passwd"]
)
def test_there_is_nothing_else(link: str, path: str) -> None:
    assert ask(link, path).status == 404


@pytest.mark.parametrize("token", ["", "0" * 32, "..", "é"])
def test_a_wrong_token_gets_nothing(link: str, token: str) -> None:
    parts = urlsplit(link)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        request = f"GET /{token}/data/summary HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
        connection.sendall(request.encode("latin-1"))
        assert b"404" in connection.recv(100).splitlines()[0]
    assert ask(link.rstrip("/")).status == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", ""]
)
def test_a_name_that_was_rebound_to_loopback_gets_nothing(link: str, host: str) -> None:
    assert ask(link, Host=host).status == 403


@pytest.mark.parametrize("host", ["localhost:9999", "127.0.0.1", "[::1]:8787", "LOCALHOST"])
def test_a_port_forwarded_by_ssh_may_be_another(link: str, host: str) -> None:
    assert ask(link, Host=host, Origin=f"http://{host}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:1"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
    ],
)
def test_pages_of_other_origins_can_do_nothing(link: str, headers: dict[str, str]) -> None:
    assert act(link, "retire", {"worker": "worker-0"}, **headers).status == 403


def test_a_link_in_a_notebook_may_be_followed(link: str) -> None:
    headers = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert ask(link, **headers).status == 200


def test_actions_are_only_for_posts_of_json(link: str) -> None:
    assert ask(link, "action/cancel").status == 404
    assert ask(link, "data/summary", "POST", {}, Content_Type="application/json").status == 404
    assert ask(link, "action/cancel", "POST", {}, Content_Type="text/plain").status == 415
    assert act(link, "cancel", [1]).status == 400
    assert act(link, "cancel", {"name": "x"}).status == 400
    assert act(link, "retire", {"worker": "worker-7"}).status == 400
    assert act(link, "cancel", {"name": "x" * 100_000}).status == 413
    assert ask(link, "data/summary", "PUT").status == 501


def test_a_host_that_is_a_proxy_may_be_named() -> None:
    with fs.Cluster(dashboard_hosts="hub.example.org, other", **OPTIONS) as cluster:
        assert cluster.dashboard_link is not None
        assert ask(cluster.dashboard_link, Host="hub.example.org").status == 200
        assert ask(cluster.dashboard_link, Host="example.org").status == 403
        # A proxy may ask under its own name for a page that came from its site.
        assert ask(cluster.dashboard_link, Origin="https://hub.example.org").status == 200
        assert ask(cluster.dashboard_link, Origin="https://example.org").status == 403
    with pytest.raises(ConfigurationError, match="names of hosts without ports"):
        fs.Cluster(dashboard_hosts="http://hub.example.org", **OPTIONS)


# -- what it reports ------------------------------------------------------------------------------


def test_a_run_is_summed_up_by_function(cluster: fs.Cluster, link: str) -> None:
    cluster.gather(cluster.map(square, range(50)))
    summary = ask(link, "data/summary").json
    (function,) = (one for one in summary["functions"] if one["label"] == "square")
    assert (function["done"], function["failed"], function["waiting"]) == (50, 0, 0)
    (worker,) = summary["workers"]
    assert (worker["slots"], worker["leaving"]) == (2, False)
    assert worker["rss"] > 1 << 20
    assert summary["done"] >= 50


def test_the_timeline_has_what_ran_since_it_was_asked_for(cluster: fs.Cluster, link: str) -> None:
    ask(link, "data/summary")
    futures = cluster.map(square, range(1000, 1100))
    cluster.gather(futures)
    found = ask(link, "data/timeline?width=800").json
    names = set(found["tasks"]["name"])
    assert {future.name for future in futures} <= names
    assert not any(found["cells"].values())
    assert "square" in found["labels"].values()
    lanes = set(found["tasks"]["lane"])
    assert {found["lanes"][lane] for lane in lanes} == {"worker-0"}
    nothing = ask(link, "data/timeline?from=-5&to=-4").json
    assert (nothing["count"], nothing["tasks"]["name"]) == (0, [])
    assert ask(link, "data/timeline?from=2&to=1").status == 400
    assert ask(link, "data/timeline?from=nan").status == 400


def test_failures_come_with_their_traceback(cluster: fs.Cluster, link: str) -> None:
    future = cluster.submit(fail, 1)
    assert isinstance(future.exception(), ZeroDivisionError)
    failure = ask(link, "data/failures").json["failures"][0]
    assert (failure["label"], failure["ended"], failure["name"]) == ("fail", "raised", future.name)
    assert failure["message"] == "ZeroDivisionError: division by zero"
    assert "in fail" in failure["traceback"]


def test_logs_are_those_of_all_programs(cluster: fs.Cluster, link: str) -> None:
    with fs.connect(cluster.access) as other:
        theirs = other.submit(print, "x" * 5000 + "theirs")
        theirs.result()
        ours = cluster.submit(print, "ours")
        ours.result()
        found = ask(link, "data/logs").json["logs"]
        assert [(log["name"], log["label"], log["worker"]) for log in found] == [
            (future.name, "print", "worker-0") for future in (ours, theirs)
        ]
        assert found[0]["text"] == "ours\n"
        assert found[1]["text"] == ("x" * 5000 + "theirs\n")[-4096:]
        assert ask(link, f"data/explain?name={ours.name}").json["log"] == "ours\n"
        assert str(cluster.logs()) == "ours\n"


def test_what_waits_is_listed_explained_and_cancelled(
    cluster: fs.Cluster, link: str, tmp_path: Path
) -> None:
    gate = str(tmp_path / "gate")
    first = cluster.submit(wait_for_file, gate, pure=False, name="gate")
    second = cluster.submit(square, first, tag="later")
    third = cluster.submit(square, second)
    tasks = ask(link, "data/tasks?function=square&stage=waiting").json["tasks"]
    assert {task["name"] for task in tasks} == {second.name, third.name}
    text = ask(link, f"data/explain?name={second.name}").json["text"]
    assert text.startswith("square(gate) waits for gate(")
    assert "), which has been running on worker-0 for " in text
    calls = {task["call"] for task in ask(link, "data/tasks").json["tasks"]}
    assert {"square(gate)", "square(square)"} <= calls
    assert str(cluster.explain(third)).startswith(
        "square(square) waits for square(gate), which waits for 1 input"
    )
    assert act(link, "cancel", {"name": third.name}).json == {"cancelled": 1}
    assert waiting.until(third.cancelled)
    assert act(link, "cancel", {"tag": "later"}).json == {"cancelled": 1}
    assert waiting.until(second.cancelled)
    Path(gate).touch()
    assert first.result()
    assert ask(link, "data/explain?name=zz").status == 400


def grow(nbytes: int) -> bytes:
    found = b"x" * nbytes
    time.sleep(0.01)
    return found[:1000]


def test_memory_has_its_peaks_by_function_and_executor() -> None:
    with fs.Cluster(**OPTIONS) as cluster:
        link = str(cluster.dashboard_link)
        made = cluster.submit(bytes, 1 << 20)
        made.result()
        del made
        cluster.submit(grow, 200 << 20).result()
        cluster.submit(grow, 1).result()
        found = ask(link, "data/blocks").json
        functions = {one["label"]: one for one in found["functions"]}
        assert functions["bytes"]["peak_nbytes"] >= 1 << 20
        assert functions["grow"]["resident_nbytes"] > 200 << 20
        (executor,) = found["executors"]
        assert executor["peak_nbytes"] == functions["grow"]["resident_nbytes"]
        assert 0 < executor["resident"] < executor["peak_nbytes"]
        (worker,) = cluster.statistics().workers
        assert worker.executors == {executor["pid"]: executor["peak_nbytes"]}


def test_blocks_that_no_call_has_made_are_counted() -> None:
    with fs.Cluster(**OPTIONS) as cluster:
        link = str(cluster.dashboard_link)
        held = [cluster.submit(bytes, 1 << 20), cluster.put(bytes(1 << 21))]
        held[0].result()
        functions = ask(link, "data/blocks").json["functions"]
        assert [(one["label"], one["blocks"]) for one in functions] == [
            ("(put, or their tasks are forgotten)", 1),
            ("bytes", 1),
        ]
        assert functions[0]["nbytes"] > 1 << 21
        assert [one["label"] for one in ask(link, "data/summary").json["functions"]] == ["bytes"]
        assert ask(link, "data/tasks").json["functions"] == ["bytes"]


def test_the_graph_has_edges_between_functions_and_tasks(tmp_path: Path) -> None:
    with fs.Cluster(**OPTIONS) as cluster:
        link = str(cluster.dashboard_link)
        first = cluster.submit(wait_for_file, str(tmp_path / "go"))
        waits = [cluster.submit(square, first, pure=False) for _ in range(3)]
        graph = ask(link, "data/graph").json
        labels = [one["label"] for one in graph["functions"]]
        assert [(labels[one], labels[other], n) for one, other, n in graph["between"]] == [
            ("wait_for_file", "square", 3)
        ]
        assert sorted(graph["nodes"]["stage"]) == ["assigned", "waiting", "waiting", "waiting"]
        names = graph["nodes"]["name"]
        assert {names[one] for one in graph["edges"]["from"]} == {first.name}
        assert {names[one] for one in graph["edges"]["to"]} == {one.name for one in waits}
        (tmp_path / "go").touch()
        cluster.gather(waits)
        assert ask(link, "data/graph").json["unfinished"] == 0


def test_blocks_and_transfers_are_listed() -> None:
    with fs.Cluster(workers=2, **OPTIONS) as cluster:
        link = str(cluster.dashboard_link)
        ask(link, "data/summary")
        made = cluster.submit(bytes, 1 << 20, worker=0)
        assert cluster.submit(len, made, worker=1).result() == 1 << 20
        blocks = ask(link, "data/blocks").json
        assert blocks["functions"][0]["label"] == "bytes"
        assert blocks["blocks"][0]["name"] == made.name
        assert sorted(blocks["blocks"][0]["replicas"]) == ["worker-0", "worker-1"]
        (pair,) = ask(link, "data/transfers").json["pairs"]
        assert (pair["source"], pair["target"], pair["count"]) == ("worker-0", "worker-1", 1)
        assert pair["nbytes"] > 1 << 20
        assert act(link, "retire", {"worker": "worker-1"}).json == {"retiring": "worker-1"}
        assert waiting.until(lambda: len(cluster.statistics().workers) == 1)


# -- when it is there -----------------------------------------------------------------------------


def test_the_reprs_lead_to_it(
    cluster: fs.Cluster, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUPYTERHUB_SERVICE_PREFIX", raising=False)
    assert link in repr(cluster)
    assert f'href="{link}"' in cluster._repr_html_()
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/me/")
    port, path = urlsplit(link).port, urlsplit(link).path
    assert f'href="/user/me/proxy/{port}{path}"' in cluster._repr_html_()


def test_it_can_be_left_out() -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        assert cluster.dashboard_link is None
        assert "http" not in repr(cluster)


def serving() -> int:
    """Count the threads that serve pages."""
    return sum(thread.name == "freestone-page" for thread in threading.enumerate())


def nothing() -> dashboard.Shown:
    raise AssertionError("nobody has asked")


def test_many_clusters_have_ports_of_their_own_and_give_them_back() -> None:
    before = serving()
    pages = [dashboard.Dashboard(nothing) for _ in range(80)]
    assert len({page.port for page in pages}) == 80
    assert sum(page.port >= dashboard.FIRST_PORT + 64 for page in pages) >= 16
    for page in pages:
        page.close()
        page.close()
    assert serving() == before
    # Others may have taken it meanwhile.
    assert listening_at(pages[-1].port) == 0


def listening_at(port: int) -> int:
    """Count the sockets of this process that listen at a port of loopback."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as held:
            listens = held.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            found += held.family == socket.AF_INET and held.getsockname()[1] == port and listens
    return found


def test_a_forked_child_lets_go_of_the_port() -> None:
    with fs.Cluster(**OPTIONS) as cluster:
        link = str(cluster.dashboard_link)
        assert listening_at(urlsplit(link).port or 0) == 1
        with warnings.catch_warnings():
            # Of forking beside threads, which is what is tried here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(listening_at(urlsplit(link).port or 0))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ask(link).status == 200


def test_without_loopback_there_is_a_warning_and_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> socket.socket:
        raise OSError("no network")

    monkeypatch.setattr(dashboard, "_listen", refuse)
    with pytest.warns(RuntimeWarning, match="this cluster has no page.*no network"):
        cluster = fs.Cluster(**OPTIONS)
    with cluster:
        assert cluster.dashboard_link is None


def test_a_closed_cluster_says_so() -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        views = Views(cluster)
    page = dashboard.Dashboard(lambda: views)
    assert views.closed
    with contextlib.closing(page):
        assert ask(page.link, "data/summary").status == 410


def test_nothing_is_recorded_while_no_page_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with fs.Cluster(dashboard=False, **OPTIONS) as cluster:
        manager = cluster.client.manager
        views = Views(cluster)
        assert not views.observe_while_asked()
        views.questions["summary"]({})
        assert views.observe_while_asked()
        cluster.submit(square, 1).result()
        views.questions["timeline"]({})
        assert views.questions["timeline"]({})["count"] == 1
        monkeypatch.setattr("freestone.observe.dashboard.views._IDLE_S", -1.0)
        assert not views.observe_while_asked()
        manager.take_columns()
        cluster.submit(square, 2).result()
        assert manager.take_columns() == []
