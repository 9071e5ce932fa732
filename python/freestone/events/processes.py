"""Ranks that are processes of this machine: starting them, and watching over them."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from freestone import _native, functions
from freestone.errors import NotSerializableError
from freestone.errors.events import RankLostError
from freestone.events import tracing
from freestone.events.grace import Grace
from freestone.events.memory_files import loaded, write
from freestone.events.outcome import Outcome
from freestone.events.settings import Settings

_CODE = (
    "import json, sys; job = json.loads(sys.argv[1]); sys.path[:] = job['path']; del sys.argv[:2]; "
    "from freestone.events.process import work; work(job)"
)


class Processes:
    """The processes of a run.

    Attributes
    ----------
    outcomes : list of Outcome
        How each has ended, as far as it has.
    """

    def __init__(self, ranks: int, settings: Settings) -> None:
        self._ranks = ranks
        self._settings = settings
        self._rings = tracing.begin(settings.trace)
        self._memory = _native.events.EventMemory(ranks, arena=settings.arena)
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        self._results = [os.memfd_create(f"rank-{rank}") for rank in range(ranks)]
        self.outcomes = [Outcome() for _ in range(ranks)]
        self._grace = Grace(self._memory, settings.grace_s)
        self._pulses = self._memory.watch(settings.meet_timeout_s)
        # Why ranks were killed, which would have ended by themselves otherwise.
        self._killed: dict[int, str] = {}

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
        return self.outcomes

    def _start(self, rank: int, program: int) -> None:
        job = {
            "rank": rank,
            "ranks": self._ranks,
            "memory": self._memory.fd,
            "program": program,
            "result": self._results[rank],
            "arena": self._settings.arena,
            "settings": self._settings.native(),
            "rings": self._rings,
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
                self._await_all(selector)
                return not selector.get_map()
            except KeyboardInterrupt:
                # Each says what it waited for. A terminal has interrupted the ranks, too: they
                # take no notice of the second time.
                self._interrupt()
                self._grace.on_failed()
                self._await_all(selector)
                raise
            finally:
                for key in list(selector.get_map().values()):
                    os.close(key.fd)

    def _await_all(self, selector: selectors.BaseSelector) -> None:
        """Wait for the ranks, for as long as they may take."""
        while (left := selector.get_map()) and not self._grace.is_over():
            wait_s = self._grace.wait_s(key.data for key in left.values())
            if self._pulses is not None:
                look_s = self._pulses.until_look_s()
                wait_s = look_s if wait_s is None else min(wait_s, look_s)
            for key, _ in selector.select(wait_s):
                selector.unregister(key.fd)
                os.close(key.fd)
                self._on_exit(key.data)
            self._kill_stopped()

    def _kill_stopped(self) -> None:
        """End the ranks whose processes have been stopped for too long."""
        if self._pulses is None:
            return
        processes = [self._started[rank].pid for rank in range(self._ranks)]
        for rank, why in self._pulses.look(processes):
            if self._started[rank].poll() is None:
                self._killed[rank] = f"{processes[rank]} {why}; it was killed"
                self._started[rank].kill()

    def _on_exit(self, rank: int) -> None:
        """Note how a rank ended."""
        code = self._started[rank].wait()
        if code == 0 and os.fstat(self._results[rank]).st_size:
            self.outcomes[rank] = loaded(self._results[rank])
            if self.outcomes[rank].error is not None:
                self._grace.on_failed()
            return
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        how = self._killed.get(rank, how)
        error = RankLostError(
            f"rank {rank} is lost: its process {how}; what it said is on stderr", rank=rank
        )
        self.outcomes[rank] = Outcome(error=error, own=True)
        self._grace.on_lost(rank)

    def _forgive(self) -> None:
        """Take the errors of lost ranks away, if there were others and all of them went on."""
        others = [
            outcome for rank, outcome in enumerate(self.outcomes) if rank not in self._grace.lost
        ]
        if others and all(outcome.error is None for outcome in others):
            for rank in self._grace.lost:
                self.outcomes[rank] = Outcome()

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
        return functions.dumps((main, args))
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
