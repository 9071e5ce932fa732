from __future__ import annotations

import html.parser
import re
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.observe.explain import Explanation
from freestone.observe.figures import Statistics, WorkerFigures, WorkerStatus
from freestone.observe.reprs import ClusterView, FutureView, view_html, view_text

NAME = "5f0c" * 8
EVIL = "<script>alert('x')</script>&\""


def worker(number: int, **fields: Any) -> WorkerFigures:
    return WorkerFigures(
        worker=f"worker-{number}",
        host="node",
        pid=100 + number,
        slots=2,
        resources={"cores": 2, "memory": 2**31, "disk": 2**34},
        status=WorkerStatus(running=number, memory_nbytes=2**28),
        **fields,
    )


STATISTICS = Statistics(
    done=1234,
    waiting=10,
    answered=5,
    transfers=3,
    transferred_nbytes=2**20,
    blocks=7,
    busy_ns=75 * 10**9,
    workers=(worker(0, nbytes=2**28), worker(1, nbytes=2**28)),
)
CLUSTER = ClusterView(closed=False, address="unix:/run/x/manager.sock", statistics=STATISTICS)


class Checker(html.parser.HTMLParser):
    """Collects tags and checks that each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def check(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert checker.seen <= {"div", "span", "table", "tr", "th", "td", "b"}
    assert not re.search(r"https?:|url\(", text)
    return checker


@pytest.mark.parametrize("status", ["pending", "done", "failed", "cancelled"])
def test_a_future_tells_its_state(status: str) -> None:
    view = FutureView(status=status, label="mass", name=NAME, nbytes=2048)
    assert view_text(view) == f"<Future 'mass' 5f0c5f0c: {status}, 2 KiB>"
    assert f"mass 5f0c5f0c {status} · 2 KiB" in check(view_html(view)).text


def test_a_block_has_no_label_and_a_pending_one_no_size() -> None:
    assert view_text(FutureView(status="pending", label="", name=NAME)) == (
        "<Future 5f0c5f0c: pending>"
    )


def test_a_cluster_is_one_line() -> None:
    assert view_text(CLUSTER) == (
        "<Cluster: 2 workers with 4 executors, 10 pending, 1,234 done, 5 answered, "
        "7 blocks of 512 MiB>"
    )
    assert view_text(ClusterView(closed=True)) == "<Cluster: closed>"
    assert "closed" in check(view_html(ClusterView(closed=True))).text


def test_a_cluster_has_a_row_per_worker() -> None:
    checker = check(view_html(CLUSTER))
    assert "worker-0node:100 0/2" in checker.text
    assert "256 MiB of 2 GiB" in checker.text
    assert "3 (1 MiB)" in checker.text
    check(Statistics()._repr_html_())


@pytest.mark.parametrize(
    "text",
    [
        view_html(FutureView(status="done", label=EVIL, name=EVIL, nbytes=1)),
        view_html(ClusterView(closed=False, address=EVIL, statistics=STATISTICS)),
        Explanation(stage="ready", label=EVIL)._repr_html_(),
        Statistics(workers=(WorkerFigures(worker=EVIL, host=EVIL),))._repr_html_(),
    ],
)
def test_what_users_name_is_escaped(text: str) -> None:
    assert "<script>" not in text
    assert "script" in check(text).text


def test_a_lazy_array_says_that_it_is_not_computed() -> None:
    lazy = fs.Array.from_numpy(np.ones((4, 2)), 2) * 2
    assert "LazyArray (4, 2), float64: not computed" in check(lazy._repr_html_()).text
