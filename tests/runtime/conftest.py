"""Clusters of the runtime's tests: one of this program, and one of `freestone serve`."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import freestone as fs

ROOT = Path(__file__).parents[2]
SIZES = {"executors": "2", "memory": "256MiB", "disk": "1GiB"}
ON_BOTH = {
    "test_async",
    "test_blocks",
    "test_calls",
    "test_children",
    "test_command_inputs",
    "test_failures",
    "test_habits",
    "test_messages",
    "test_usage",
    "test_values",
}
"""Modules whose tests run on both; those with clusters of their own open them by `opened`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in ON_BOTH and "cluster" in metafunc.fixturenames:
        metafunc.parametrize("cluster", ["embedded", "served"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the clusters of a module are found."""
    return tmp_path_factory.mktemp("fs")


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a cluster called ``suite`` is found, which `freestone serve` runs."""
    folder = str(tmp_path_factory.mktemp("served"))
    options = [f"--{name}={value}" for name, value in SIZES.items()]
    with subprocess.Popen(
        [sys.executable, "-m", "freestone", "serve", "--name=suite", *options],
        stdout=subprocess.PIPE,
        text=True,
        # Executors import the tests' modules from here.
        cwd=ROOT,
        env=os.environ | {"FREESTONE_FOLDER": folder},
    ) as process:
        assert process.stdout is not None
        try:
            assert "is served at" in process.stdout.readline()
            yield folder
        finally:
            # In order: SIGTERM would leave it to another process.
            process.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[fs.Cluster]:
    """One worker with two executors, shared by the tests of a module."""
    if getattr(request, "param", "embedded") == "served":
        folder = request.getfixturevalue("served_folder")
        with fs.connect("suite", folder=folder) as cluster:
            yield cluster
    else:
        with fs.Cluster(executors=2, memory="256MiB", disk="1GiB") as cluster:
            yield cluster


@contextmanager
def _opened(is_connected: bool, **settings: Any) -> Iterator[fs.Cluster]:
    with fs.Cluster(**settings) as own:
        if not is_connected:
            yield own
            return
        with fs.connect(own.access) as cluster:
            yield cluster


Opened = Callable[..., AbstractContextManager[fs.Cluster]]


@pytest.fixture(scope="module", params=["embedded", "connected"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Open a cluster with settings, for its own program or for one that connects to it."""
    return functools.partial(_opened, request.param == "connected")
