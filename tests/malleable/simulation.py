"""Histories in one process: the data's way through all resizes, over messages in memory."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from freestone.malleable import Method, plans
from freestone.malleable.arrays import Array, Description
from freestone.malleable.moving import Stream, transport
from freestone.malleable.parts import form_of
from freestone.malleable.plans import Rows
from freestone.malleable.storage import Storage
from tests.malleable.fakes import FakeComm
from tests.malleable.histories import History, is_same, replay, step, whole, work

__all__ = ["simulate"]

Held = dict[str, Array]


class Simulation:
    """What the processes of a job hold.

    Parameters
    ----------
    history : History
        What the job does. Each resize is done at its step, all rows of all arrays by messages.
    seed : int
        For the order in which processes look at their messages.
    """

    def __init__(self, history: History, seed: int) -> None:
        self._history = history
        self._random = random.Random(seed)
        self._wholes = {data.name: whole(data, history.rows) for data in history.data}
        self._layout: plans.Layout = plans.even(history.rows, 2)
        self._processes: list[Held] = [{}, {}]

    def register(self, loop: int) -> None:
        """Load what is registered before a loop."""
        for data in self._history.data:
            if data.loop != loop:
                continue
            for place, held in enumerate(self._processes):
                array = self._empty(data.name)
                array.take_layout(self._layout, place, self._elements(data.name))
                whole_of_it = self._wholes[data.name]
                runs = self._layout.runs(place)
                array.fill(*(whole_of_it[start:stop] for start, stop in runs))
                held[data.name] = array

    def change(self, how: Any, *words: int) -> None:
        """Change all that is variable."""
        for held in self._processes:
            for array in held.values():
                for run in array.runs if array.kind == "variable" else []:
                    how(run.local, *words)

    def resize(self, size: int, method: Method) -> None:
        """Become another number of processes."""
        before = self._layout
        leaving = range(before.places) if method.processes == "baseline" else range(0)
        plan = self._planned(size, leaving)
        count = max(plan.process_of) + 1 - before.places
        coming = [{n: self._empty(n) for n in self._processes[0]} for _ in range(max(0, count))]
        everyone = [*self._processes, *coming]
        for held in self._processes:
            assert not any(array.problem() for array in held.values())
        self._move(everyone, plan)
        self._layout = plan.after
        self._processes = [everyone[process] for process in plan.process_of]
        for place, held in enumerate(self._processes):
            for name, array in held.items():
                array.take_layout(plan.after, place, self._elements(name))

    def locals(self, name: str) -> list[Any]:
        """Return the rows of all processes, in their order."""
        runs = [run for held in self._processes for run in held[name].runs]
        return [run.local for run in sorted(runs, key=lambda run: run[:2])]

    def _planned(self, size: int, leaving: range) -> plans.Plan:
        before = self._layout
        if self._history.settings.get("minimal"):
            count = before.places
            staying = [place for place in range(count) if place not in leaving]
            process_of = [*staying, *range(count, count + size)][:size]
            return plans.follow(before, plans.move_fewest(before, process_of, size), process_of)
        relabel = self._history.settings["relabel"]
        assert isinstance(before, Rows)
        return plans.plan(before, self._dealt(size), relabel=relabel, leaving=leaving)

    def _move(self, everyone: list[Held], plan: plans.Plan) -> None:
        mail: dict[tuple[int, int, int], list[Any]] = {}
        carriers = []
        for process, held in enumerate(everyone):
            streams = [
                Stream(array.storages[index], array.span(index), self._moves(array, plan, index))
                for array in held.values()
                for index in range(len(array.form.parts))
            ]
            comm = FakeComm(process, len(everyone), mail)
            carriers.append(transport("p2p", comm, streams, 5.0))
        self._random.shuffle(carriers)
        for carrier in carriers:
            carrier.start()
        while carriers:
            self._random.shuffle(carriers)
            carriers = [carrier for carrier in carriers if not carrier.test()]

    def _moves(self, array: Array, plan: plans.Plan, index: int) -> list[plans.Move]:
        return array.moves(plan, index, self._elements(array.name), lambda a, b: a == b)

    def _empty(self, name: str) -> Array:
        (data,) = (data for data in self._history.data if data.name == name)
        rows, found = self._history.rows, self._wholes[name]
        form = form_of(found, rows, found.nnz if data.form == "csr" else 0)
        storages = [Storage(part.nbytes) for part in form.parts]
        return Array(Description(name, data.kind, form, False), storages)  # type: ignore[arg-type]

    def _elements(self, name: str) -> Mapping[int, int]:
        pointers = getattr(self._wholes[name], "indptr", np.zeros(self._history.rows + 1))
        return {row: int(count) for row, count in enumerate(pointers)}

    def _dealt(self, size: int) -> Rows:
        balance = self._history.settings["balance"]
        if isinstance(balance, str):
            return plans.even(self._history.rows, size)
        return plans.weighted(self._history.rows, balance[:size])


def simulate(history: History, seed: int) -> str:
    """Go through a history; return what is not as one process finds it."""
    job, due, done = Simulation(history, seed), list(history.resizes), 0
    trace = []
    for number, loop in enumerate(history.loops):
        job.register(number)
        job.change(work)
        for index in range(loop.steps):
            while due and due[0][0] <= done:
                _, size, method = due.pop(0)
                job.resize(size, Method.parse(method))
            job.change(step, index)
            trace.append((number, index))
            done += 1
    for data, want in zip(history.data, replay(history, trace), strict=True):
        if not is_same(job.locals(data.name), want):
            return f"{data} is not what one process finds"
    return ""
