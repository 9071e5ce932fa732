"""Clusters for tests: real processes on this machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

import freestone as fs

# A shell starts what runs in its background with Ctrl-C ignored, and children inherit that; those
# that the tests start would then never end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
