"""A served cluster whose processes are killed in all orders: programs get the same results."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs
from tests.chaos.program import NAMES
from tests.runtime.serving import ROOT, Server
from tests.waiting import until

pytestmark = pytest.mark.timeout(300)
ORDERS = list(itertools.permutations(("manager", "worker", "program")))
PAIRS = [
    (job, order)
    for (one, job), (other, order) in itertools.product(enumerate(NAMES), enumerate(ORDERS))
    if os.environ.get("FULL") or (one + other) % 3 == 0
]
"""Each program has two orders of the six, and each order two programs; with FULL=1 all of them."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("served"), "--workers=3", "--memory=256MiB")
    yield server
    server.run("stop", "lab")


class Scene:
    """A program that works on a served cluster, and the processes that can be killed."""

    def __init__(self, server: Server, job: str, folder: Path) -> None:
        self._server, self._job, self._folder = server, job, folder
        self._watch = fs.connect("lab", folder=str(server.folder), reconnect_s=120)
        self._start()

    def _start(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.program", self._job, str(self._folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=os.environ | {"FREESTONE_FOLDER": str(self._server.folder)},
        )

    def await_progress(self, calls: int) -> None:
        """Wait until so many more calls have ended, or the program has."""
        before = self._watch.statistics().done
        assert until(
            lambda: (
                self._program.poll() is not None or self._watch.statistics().done >= before + calls
            )
        )

    def kill(self, victim: str) -> None:
        """End a process by SIGKILL; a manager and a program are started again."""
        if victim == "manager":
            self._server.kill()
            self._server.start()
        elif victim == "worker":
            # After the death of a manager they have to find the next one.
            assert until(lambda: self._watch.statistics().workers)
            workers = self._watch.statistics().workers
            os.kill(max(workers, key=lambda one: one.assigned).pid, signal.SIGKILL)
        else:
            self._program.kill()
            self._program.communicate()
            self._start()

    def end(self) -> str:
        """Wait for the program; what it printed."""
        try:
            output, _ = self._program.communicate(timeout=120)
        finally:
            self._program.kill()
            self._watch.close()
        return output


@pytest.mark.parametrize(("job", "order"), PAIRS, ids=str)
def test_results_are_the_same_whoever_dies_first(
    server: Server, tmp_path: Path, job: str, order: tuple[str, ...]
) -> None:
    if job.startswith("dv3"):
        from tests.examples.test_hep import real

        real("pfnano.root")
    scene = Scene(server, job, tmp_path)
    for victim in order:
        scene.await_progress(3)
        scene.kill(victim)
    output = scene.end()
    assert output.endswith("right\n"), output
