"""Clusters for tests: real processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import freestone as fs


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    """One worker with two executors, shared by the tests of a module."""
    with fs.Cluster(executors=2, memory="256MiB", disk="1GiB") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def two_workers() -> Iterator[fs.Cluster]:
    """Two workers that share nothing but sockets."""
    with fs.Cluster(workers=2, executors=1, memory="256MiB", disk="1GiB") as cluster:
        yield cluster
