"""Ranks that are processes of this machine: starting them, and watching over them."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import cloudpickle

from freestone import _native
from freestone.errors import NotSerializableError
from freestone.errors.events import RankLostError
from freestone.events.memory_files import loaded, write
from freestone.events.outcome import Outcome
from freestone.events.settings import Settings

GRACE_S = 10.0
"""How long the others may take to end after one has failed or was lost: a program that catches the
error may have something to save."""

POLL_INTERVAL_S = 0.2
"""How often it is looked whether the run goes on without a lost rank."""

_CODE = (
    "import json, sys; job = json.loads(sys.argv[1]); sys.path[:] = job['path']; del sys.argv[:2]; "
    "from freestone.events.process import work; work(job)"
)


class Processes:
    """The processes of a run."""

    def __init__(self, ranks: int, settings: Settings) -> None:
        self._ranks = ranks
        self._settings = settings
        self._memory = _native.EventMemory(ranks, arena=settings.arena)
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        self._results = [os.memfd_create(f"rank-{rank}") for rank in range(ranks)]
        self._outcomes = [Outcome() for _ in range(ranks)]
        self._lost: set[int] = set()

    def run(self, main: Callable[..., Any], args: tuple[Any, ...]) -> list[Outcome]:
        """Run `main` as every rank; how each one ended."""
        program = _memory_file("main", _pickled(main, args))
        try:
            for rank in range(self._ranks):
                self._start(rank, program)
            if self._watch():
                self._forgive()
        finally:
            self._kill()
            for descriptor in (program, *self._results):
                os.close(descriptor)
        return self._outcomes

    def _start(self, rank: int, program: int) -> None:
        job = {
            "rank": rank,
            "ranks": self._ranks,
            "memory": self._memory.fd,
            "program": program,
            "result": self._results[rank],
            "arena": self._settings.arena,
            "settings": self._settings.native(),
            "path": sys.path,
            "parent": os.getpid(),
        }
        self._started[rank] = subprocess.Popen(
            [sys.executable, "-c", _CODE, json.dumps(job), *map(str, sys.argv)],
            pass_fds=(self._memory.fd, program, self._results[rank]),
            stdin=subprocess.DEVNULL,
        )

    def _watch(self) -> bool:
        """Wait for the ranks; whether all ended by themselves."""
        with selectors.DefaultSelector() as selector:
            for rank, process in self._started.items():
                selector.register(os.pidfd_open(process.pid), selectors.EVENT_READ, rank)
            try:
                return self._await_all(selector)
            except KeyboardInterrupt:
                # Each says what it waited for. A terminal has interrupted the ranks, too: they
                # take no notice of the second time.
                self._interrupt()
                self._await_all(selector, time.monotonic() + GRACE_S)
                raise
            finally:
                for key in list(selector.get_map().values()):
                    os.close(key.fd)

    def _await_all(self, selector: selectors.BaseSelector, end: float = math.inf) -> bool:
        """Wait for the ranks, until `end` at most; whether all have ended."""
        while left := [key.data for key in selector.get_map().values()]:
            now = time.monotonic()
            if now >= end:
                return False
            if self._lost and any(map(self._memory.has_given_up, left)):
                # A program that computes would not hear of it before its next call.
                end = min(end, now + GRACE_S)
            wait = min(end - now, POLL_INTERVAL_S if self._lost else math.inf)
            for key, _ in selector.select(wait if wait < math.inf else None):
                selector.unregister(key.fd)
                os.close(key.fd)
                if self._on_exit(key.data):
                    end = min(end, time.monotonic() + GRACE_S)
        return True

    def _on_exit(self, rank: int) -> bool:
        """Note how a rank ended; whether the others are to end soon."""
        code = self._started[rank].wait()
        if code == 0 and os.fstat(self._results[rank]).st_size:
            self._outcomes[rank] = loaded(self._results[rank])
            return self._outcomes[rank].error is not None
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        error = RankLostError(
            f"rank {rank} is lost: its process {how}; what it said is on stderr", rank=rank
        )
        self._outcomes[rank] = Outcome(error=error, own=True)
        if self._memory.lose(rank):
            self._lost.add(rank)
        return False

    def _forgive(self) -> None:
        """Take the errors of lost ranks away, if there were others and all of them went on."""
        others = [outcome for rank, outcome in enumerate(self._outcomes) if rank not in self._lost]
        if others and all(outcome.error is None for outcome in others):
            for rank in self._lost:
                self._outcomes[rank] = Outcome()

    def _interrupt(self) -> None:
        for process in self._started.values():
            process.send_signal(signal.SIGINT)

    def _kill(self) -> None:
        for process in self._started.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def _pickled(main: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return bytes(cloudpickle.dumps((main, args)))
    except Exception as error:
        raise NotSerializableError(
            what="function",
            where="main or an argument",
            kind=type(error).__name__,
            label=getattr(main, "__qualname__", repr(main)),
            reason=f"{error}; threads=True needs no sending",
        ) from error


def _memory_file(name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name)
    write(descriptor, content)
    return descriptor
