"""Hosts that are wrong do not pass the kit; those of the package are tested with their engines."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from freestone.cluster import Cluster
from freestone.config import Config
from freestone.errors import ClusterStartError
from freestone.hosts import Access, end, launch, words
from freestone.testing import check_host


class Here:
    """A host with one worker on this machine."""

    name = "here"

    def __init__(self) -> None:
        self.workers: list[subprocess.Popen[bytes]] = []

    def listen(self) -> str:
        return "tcp://127.0.0.1:0"

    def start(self, access: Access, config: Config) -> None:
        self.workers.append(launch(access.text(), words(config)))

    def joining(self) -> Any:
        return len(self.workers)

    def close(self) -> None:
        for worker in self.workers:
            end(worker)


class Unnamed(Here):
    name = ""


class Unreachable(Here):
    def listen(self) -> str:
        return "127.0.0.1"


class Careless(Here):
    def close(self) -> None:
        end(self.workers[0])


class Uncounted(Here):
    def joining(self) -> Any:
        return None


class Deaf(Here):
    def start(self, access: Access, config: Config) -> None:
        wrong = ["--executors", "2", "--memory", "64MiB", "--disk", "64MiB"]
        self.workers.append(launch(access.text(), wrong))


def test_a_host_on_this_machine_passes() -> None:
    check_host(Here)


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        (Unnamed, "its name is empty"),
        (Unreachable, "listen.. says '127.0.0.1', and no tcp://HOST:PORT"),
        (Careless, "closed without having been started: IndexError"),
        (Uncounted, "joining.. says None, and no count"),
        (Deaf, "worker-1 runs 2 calls at once, and executors=1 was given"),
    ],
)
def test_a_mistake_is_found(host: type[Here], problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_host(host)


class Stillborn(Here):
    """Its worker ends while the cluster waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def start(self, access: Access, config: Config) -> None:
        pass

    def joining(self) -> int:
        self.asked += 1
        return int(self.asked < 3)


class Absent(Stillborn):
    def joining(self) -> int:
        return 1


def test_a_cluster_does_not_wait_for_workers_that_have_ended() -> None:
    host = Stillborn()
    with pytest.raises(ClusterStartError, match="here said that 1 workers would join, and now"):
        Cluster(host=host, executors=1, memory="64MiB", disk="64MiB")
    assert host.asked == 3


def test_the_kit_waits_for_workers_until_its_timeout() -> None:
    with pytest.raises(AssertionError, match=r" within 2\.5 s"):
        check_host(Absent, timeout_s=2.5)


def test_what_is_no_host_is_named() -> None:
    class Odd:
        name = "odd"

        def listen(self) -> str:
            return "tcp://127.0.0.1:0"

    with pytest.raises(AssertionError, match="Odd is no Host: it lacks start, joining, close"):
        check_host(Odd)  # type: ignore[arg-type]
