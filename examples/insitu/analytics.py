"""The pipeline as tasks and events (paper, section VI and figure 4).

Ranks below `settings.analytics` analyse; the others are the model. Nobody receives, polls, matches
or cleans up: what is said here is which task depends on which events. Locks, which tasks let go
when they end, are for ranks with more than one worker: there a file is written meanwhile.
"""

from __future__ import annotations

import time

from examples.insitu.federator import Federator, Share, reduced
from examples.insitu.items import Items, stamp, summary, unpack
from examples.insitu.model import paced, packed
from examples.insitu.settings import Outcome, Part, Settings, joined
from examples.insitu.writer import Writer
from freestone import events as ev

__all__ = ["Analytics", "main", "main_alone", "run"]


class Analytics:
    """What an analytics rank does."""

    def __init__(self, rank: ev.Rank, settings: Settings) -> None:
        self.rank, self.settings = rank, settings
        self.group = list(range(settings.analytics))
        self.federator = Federator(settings, rank.id)
        self.writer = Writer(settings, rank.id)
        rank.submit(self.register, on=[(ev.ANY, "register")], persistent=True)
        rank.submit(self.write, on=[(ev.SELF, "raw")], persistent=True, greedy=True)
        rank.submit(self.write_results, on=[(ev.SELF, "result")], persistent=True, greedy=True)

    def register(self, event: ev.Event) -> None:
        """Begin to serve a computational rank; its deregistration is waited for."""
        self.rank.lock("diagnostics")
        source = event.source
        self.rank.submit(
            self.receive, on=[(source, "data")], persistent=True, greedy=True, name=f"of {source}"
        )
        self.rank.submit(self.deregister, on=[(source, "deregister")])
        with_nothing = range(event.data)
        self.contribute(list(self.federator.skip(with_nothing)))

    def deregister(self, event: ev.Event) -> None:
        """Cease to serve a computational rank."""
        self.rank.lock("diagnostics")
        self.rank.remove(f"of {event.source}")
        self.contribute(list(self.federator.skip(range(event.data, self.settings.steps))))

    def receive(self, *events: ev.Event) -> None:
        """Take in what a computational rank has sent; writing it is a task of its own."""
        items = unpack([event.data for event in events], self.settings.points)
        if self.settings.folder is not None:
            self.rank.fire(ev.SELF, "raw", items, by_reference=True)
        self.diagnose(items)

    def diagnose(self, items: Items) -> None:
        """Do the arithmetic, and take part in the reductions."""
        self.rank.lock("diagnostics")
        self.contribute(list(self.federator.add(items)))

    def contribute(self, shares: list[Share]) -> None:
        """Fire each share at the root of its reduction; the root submits the task that ends it."""
        for share in shares:
            root = self.settings.root(share.step, share.field)
            if root == self.rank.id:
                self.reduce_later(share)
            self.rank.fire(root, share.tag, share.body)

    def reduce_later(self, share: Share) -> None:
        """Submit the end of a reduction: it needs an event of every analytics rank."""

        def reduce(*events: ev.Event) -> None:
            sent, values = reduced([event.data for event in events])
            found = summary(values)
            part, now = self.federator.part, time.perf_counter()
            part.results[share.step, share.field] = found
            part.last_result = max(part.last_result, now)
            part.latencies_s.append(now - sent)
            if self.settings.folder is not None:
                result = (share.step, share.field, found)
                self.rank.fire(ev.SELF, "result", result, by_reference=True)

        self.rank.submit(reduce, on=[(self.group, share.tag)])

    def write(self, *events: ev.Event) -> None:
        """Keep raw fields, and write the steps that are complete."""
        self.rank.lock("writer")
        for event in events:
            self.writer.add_items(event.data)

    def write_results(self, *events: ev.Event) -> None:
        """Keep diagnostics, and write the steps that are complete."""
        self.rank.lock("writer")
        self.writer.add_results(event.data for event in events)


def analyse(rank: ev.Rank, settings: Settings) -> Part:
    """Be an analytics rank."""
    before = time.process_time()
    analytics = Analytics(rank, settings)
    begin_together(rank)
    rank.drain()
    analytics.writer.close()
    analytics.federator.part.cpu_s = time.process_time() - before
    return analytics.federator.part


def compute(rank: ev.Rank, settings: Settings) -> None:
    """Be a computational rank: register, send fields as they come, deregister."""
    member = rank.id - settings.analytics
    target, sent = member % settings.analytics, settings.steps_of(member)
    items = packed(settings, member)
    begin_together(rank)
    rank.fire(target, "register", sent.start)
    for item in paced(settings, items):
        rank.fire(target, "data", stamp(item))
    rank.fire(target, "deregister", sent.stop)


def begin_together(rank: ev.Rank) -> None:
    """Wait for the slowest to start, for the sake of the clock alone."""
    rank.fire(ev.ALL, "started")
    rank.wait([(ev.ALL, "started")])


def main(rank: ev.Rank, settings: Settings) -> Part | None:
    """Be a rank of the pipeline.

    Raises
    ------
    ValueError
        If `mpiexec` has started more or fewer.
    """
    if rank.size != settings.analytics + settings.members:
        raise ValueError(
            f"{settings.analytics} analytics and {settings.members} computational ranks: there "
            f"are {rank.size}"
        )
    if rank.id < settings.analytics:
        return analyse(rank, settings)
    compute(rank, settings)
    return None


def main_alone(rank: ev.Rank, settings: Settings) -> Part:
    """Be an analytics rank of a run that computational ranks attach to."""
    if rank.size != settings.analytics:
        raise ValueError(f"{settings.analytics} analytics ranks: there are {rank.size}")
    return analyse(rank, settings)


def run(settings: Settings, *, threads: bool = False, workers: int = 1) -> Outcome:
    """Run the pipeline, on processes or threads."""
    ranks = settings.analytics + settings.members
    found = ev.run(main, ranks, args=(settings,), threads=threads, workers=workers)
    return joined(found[: settings.analytics])
