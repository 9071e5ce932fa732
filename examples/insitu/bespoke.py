"""The same pipeline by hand: a thread that polls, a pool of threads, tagged messages.

What the paper replaced, and the peer to measure against. The thread that receives gives raw items
to the pool; a thread of the pool does the arithmetic, sends its share to the reduction's root and
writes. Shares at the root are kept in a table with a lock, until all are there. As in MONC one
thread at a time may use the messages, and who polls naps. ``tuned`` does without
either, and takes all messages that are there at once, as greedy tasks take events.
"""

from __future__ import annotations

import multiprocessing
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol, cast

from examples.insitu.federator import Federator, Share, reduced
from examples.insitu.items import stamp, summary, unpack
from examples.insitu.messages import Messages
from examples.insitu.model import paced, packed
from examples.insitu.settings import FIELDS, Outcome, Part, Settings, joined
from examples.insitu.writer import Writer

__all__ = ["Engine", "run"]

POLL_INTERVAL_S = 100e-6
THREADS = {"monc": 10, "tuned": 2}
TOGETHER = 128
"""As many messages are taken at once at most; one by who polls."""

Message = tuple[int, int, bytes]
DATA, REGISTER, DEREGISTER, SHARES = -1, -2, -3, 0
"""Tags; from `SHARES` on they tell step and field of a reduction."""


class Engine:
    """What an analytics process does.

    Parameters
    ----------
    settings
        The run.
    number
        Which analytics process this is.
    messages
        Its end.
    flavour
        ``monc`` or ``tuned``.
    """

    def __init__(self, settings: Settings, number: int, messages: Messages, flavour: str) -> None:
        self.settings, self.number, self.messages = settings, number, messages
        self.naps = flavour == "monc"
        self.federator = Federator(settings, number)
        self.federator_lock = threading.Lock()
        self.writer = Writer(settings, number)
        self.writer_lock = threading.Lock()
        self.reductions: dict[tuple[int, int], list[bytes]] = {}
        self.reductions_lock = threading.Lock()
        self.jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.threads = [threading.Thread(target=self._work) for _ in range(THREADS[flavour])]
        pairs = [(s, f) for s in range(settings.steps) for f in range(len(FIELDS))]
        self.lacking = sum(settings.root(*pair) == number for pair in pairs)
        self.leaving = len(settings.own(number))
        self.failure: BaseException | None = None

    def serve(self) -> Part:
        """Receive until all have left and all reductions that end here have."""
        for thread in self.threads:
            thread.start()
        while (self.leaving or self.lacking) and self.failure is None:
            self._dispatch(self._next())
        for _ in self.threads:
            self.jobs.put(None)
        for thread in self.threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        self.writer.close()
        return self.federator.part

    def _next(self) -> list[Message]:
        if self.naps:
            message = self.messages.try_receive()
            if message is None:
                time.sleep(POLL_INTERVAL_S)
            return [message] if message else []
        messages = [self.messages.receive()]
        while len(messages) < TOGETHER and (message := self.messages.try_receive()):
            messages.append(message)
        return messages

    def _dispatch(self, messages: list[Message]) -> None:
        items = [body for _, tag, body in messages if tag == DATA]
        if items:
            self.jobs.put(lambda: self._handle(items))
        for _, tag, body in messages:
            if tag != DATA:
                self._follow(tag, body)

    def _follow(self, tag: int, body: bytes) -> None:
        if tag == REGISTER:
            self.jobs.put(lambda: self._skip(range(int.from_bytes(body, "little"))))
        elif tag == DEREGISTER:
            self.leaving -= 1
            start = int.from_bytes(body, "little")
            self.jobs.put(lambda: self._skip(range(start, self.settings.steps)))
        else:
            step, field = divmod(tag - SHARES, len(FIELDS))
            self._collect(step, field, body)

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                self.failure = error

    def _handle(self, bodies: list[bytes]) -> None:
        items = unpack(bodies, self.settings.points)
        with self.federator_lock:
            shares = list(self.federator.add(items))
        self._contribute(shares)
        with self.writer_lock:
            self.writer.add_items(items)

    def _skip(self, steps: range) -> None:
        with self.federator_lock:
            shares = list(self.federator.skip(steps))
        self._contribute(shares)

    def _contribute(self, shares: list[Share]) -> None:
        for share in shares:
            root = self.settings.root(share.step, share.field)
            tag = SHARES + share.step * len(FIELDS) + share.field
            self.messages.send(root, tag, share.body)

    def _collect(self, step: int, field: int, body: bytes) -> None:
        with self.reductions_lock:
            shares = self.reductions.setdefault((step, field), [])
            shares.append(body)
            if len(shares) < self.settings.analytics:
                return
            del self.reductions[step, field]
        self.lacking -= 1
        self.jobs.put(lambda: self._reduce(step, field, shares))

    def _reduce(self, step: int, field: int, shares: list[bytes]) -> None:
        sent, values = reduced(shares)
        found = summary(values)
        now, part = time.perf_counter(), self.federator.part
        with self.federator_lock:
            part.results[step, field] = found
            part.last_result = max(part.last_result, now)
            part.latencies_s.append(now - sent)
        with self.writer_lock:
            self.writer.add_results([(step, field, found)])


class Together(Protocol):
    """What all processes wait at, or give up."""

    def wait(self) -> object:
        """Wait until all do."""

    def abort(self) -> None:
        """Let nobody wait any more."""


def analyse(
    number: int, settings: Settings, folder: Path, flavour: str, together: Together
) -> Part:
    """Be an analytics process."""
    before = time.process_time()
    with Messages(folder, number, serialized=flavour == "monc") as messages:
        engine = Engine(settings, number, messages, flavour)
        together.wait()
        part = engine.serve()
    part.cpu_s = time.process_time() - before
    return part


def compute(number: int, settings: Settings, folder: Path, together: Together) -> None:
    """Be a computational process."""
    member = number - settings.analytics
    target, sent = member % settings.analytics, settings.steps_of(member)
    items = packed(settings, member)
    with Messages(folder, number) as messages:
        together.wait()
        messages.send(target, REGISTER, sent.start.to_bytes(8, "little"))
        for item in paced(settings, items):
            messages.send(target, DATA, stamp(item))
        messages.send(target, DEREGISTER, sent.stop.to_bytes(8, "little"))


def process(number: int, settings: Settings, out: Connection, **rest: Any) -> None:
    """Be a process of the pipeline, and tell what came of it."""
    try:
        if number < settings.analytics:
            out.send(analyse(number, settings, **rest))
        else:
            compute(number, settings, rest["folder"], rest["together"])
            out.send(None)
    except BaseException as error:
        rest["together"].abort()
        out.send(error)


def gather(ends: list[Connection]) -> list[Any]:
    """Return what each process tells, in their order.

    Raises
    ------
    Exception
        What a process failed with.
    RuntimeError
        When one has died.
    """
    found: dict[int, Any] = {}
    while len(found) < len(ends):
        waiting = {end: number for number, end in enumerate(ends) if number not in found}
        for end in wait(list(waiting)):
            number = waiting[cast(Connection, end)]
            try:
                found[number] = ends[number].recv()
            except EOFError:
                raise RuntimeError(f"process {number} died") from None
            if isinstance(found[number], BaseException):
                raise found[number]
    return [found[number] for number in range(len(ends))]


def run(settings: Settings, flavour: str = "monc") -> Outcome:
    """Run the pipeline on processes; ``monc`` or ``tuned``."""
    context = multiprocessing.get_context("spawn")
    count = settings.analytics + settings.members
    together = context.Barrier(count)
    with tempfile.TemporaryDirectory() as folder:
        rest = {"folder": Path(folder), "flavour": flavour, "together": together}
        processes, ends = [], []
        try:
            for number in range(count):
                end, other = context.Pipe(duplex=False)
                one = context.Process(target=process, args=(number, settings, other), kwargs=rest)
                one.start()
                other.close()
                processes.append(one)
                ends.append(end)
            return joined(gather(ends)[: settings.analytics])
        finally:
            # Those that are still there wait for one that has failed.
            for one in processes:
                one.terminate()
                one.join()
