"""Ranks on the workers of a cluster."""

import os
import signal
import socket
import threading
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone import events as ev
from freestone.errors import ConfigurationError, RankLostError, RunStuckError


def exchange(rank: ev.Rank, array: Any, own: int) -> Any:
    rank.fire((rank.id + 1) % rank.size, "part", array * (rank.id + 1))
    part = rank.wait([(ev.ANY, "part")])[0].data
    return os.getpid(), float(part.sum()), own, array.flags.owndata, array.flags.writeable


def test_ranks_run_together_and_read_blocks_in_place() -> None:
    with fs.Cluster(workers=2) as cluster:
        block = cluster.put(np.ones((1000, 1000)))
        found = cluster.spmd(exchange, args=[block], each=[[10], [20]])
        assert len({pid for pid, *_ in found} | {os.getpid()}) == 3
        assert [rest for _, *rest in found] == [
            [2e6, 10, False, False],
            [1e6, 20, False, False],
        ]
        # The same again: it is no call whose result is kept.
        assert [one[1] for one in cluster.spmd(exchange, 2, args=[block], each=[[1], [2]])]
        assert cluster.submit(pow, 2, 10).result() == 1024


def total(rank: ev.Rank, values: list[Any]) -> float:
    rank.fire(ev.ALL, "part", sum(float(value) for value in values))
    return sum(event.data for event in rank.wait([(ev.ALL, "part")]))


def test_futures_in_arguments_are_what_they_stand_for() -> None:
    with fs.Cluster(workers=2) as cluster:
        futures = cluster.map(float, range(10))
        parts = [[futures[:5]], [futures[5:]]]
        assert cluster.spmd(total, 2, each=parts) == [45.0, 45.0]


def use_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers of an open cluster seem to be elsewhere; they come to the loopback address."""
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    monkeypatch.setattr("freestone.events.gang.listen_towards", lambda _: "tcp://127.0.0.1:0")


def test_over_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    with fs.Cluster(workers=3) as cluster:
        use_tcp(monkeypatch)
        found = cluster.spmd(total, 3, each=[[[1]], [[2]], [[3]]])
        assert found == [6.0] * 3


def fails(rank: ev.Rank) -> None:
    if rank.id == 1:
        raise KeyError("no luck")
    rank.wait([(ev.ANY, "never")])


def forgets(rank: ev.Rank) -> None:
    rank.submit(print, on=[(ev.ANY, "never")])


def dies(rank: ev.Rank) -> None:
    if rank.id == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    rank.wait([(ev.ANY, "never")])


def test_what_goes_wrong_is_reported_and_the_cluster_goes_on() -> None:
    with fs.Cluster(workers=2) as cluster:
        with pytest.raises(KeyError, match="no luck"):
            cluster.spmd(fails, 2)
        with pytest.raises(RunStuckError, match="lacks 'never' from any rank"):
            cluster.spmd(forgets, 2)
        with pytest.raises(RankLostError, match="rank 1 is lost"):
            cluster.spmd(dies, 2)
        assert cluster.submit(pow, 2, 10).result() == 1024


def computes(rank: ev.Rank, ends: str) -> None:
    """End as rank 1 in one of several ways, while rank 0 computes and makes no call."""
    if rank.id == 0:
        rank.fire(1, "ready")
        threading.Event().wait()
    rank.wait([(0, "ready")])
    if ends == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    raise KeyError("no luck")


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize(
    ("ends", "error", "match"),
    [
        ("killed", RankLostError, "rank 1 is lost: .*runs only once"),
        ("raises", KeyError, "no luck"),
    ],
)
def test_a_rank_that_computes_ends_with_the_others(
    transport: str,
    ends: str,
    error: type[Exception],
    match: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_GRACE_S", "0.1")
    with fs.Cluster(workers=2) as cluster:
        if transport == "tcp":
            use_tcp(monkeypatch)
        with pytest.raises(error, match=match):
            cluster.spmd(computes, 2, args=[ends])
        # Both executors are free again.
        assert cluster.spmd(total, 2, args=[[1]]) == [2.0, 2.0]


def goes_on(rank: ev.Rank) -> list[int]:
    lost: list[int] = []
    if rank.id == 0:
        rank.submit(lambda event: lost.append(event.source), on=[(ev.ANY, ev.RANK_LOST)])
        rank.fire(1, "ready")
    else:
        rank.wait([(0, "ready")])
        os.kill(os.getpid(), signal.SIGKILL)
    return lost


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_a_rank_that_asked_for_lost_ranks_goes_on(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fs.Cluster(workers=2) as cluster:
        if transport == "tcp":
            use_tcp(monkeypatch)
        assert cluster.spmd(goes_on, 2) == [[1], None]


def test_what_makes_no_sense_is_refused() -> None:
    with fs.Cluster(workers=1) as cluster:
        with pytest.raises(ConfigurationError, match=r"ranks=99: .* the cluster has"):
            cluster.spmd(fails, 99)
        with pytest.raises(ConfigurationError, match="each has arguments for 2 ranks"):
            cluster.spmd(fails, 1, each=[[], []])
        with pytest.raises(ConfigurationError, match="no setting 'stuck'; did you mean 'stuck_s'"):
            cluster.spmd(fails, 1, stuck=3)
