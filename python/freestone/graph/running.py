"""Running a graph: plan, calls, results."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from freestone.client.future import Future
from freestone.client.interface import Client
from freestone.client.waiting import FIRST_COMPLETED, wait
from freestone.errors import NotSerializableError
from freestone.graph.arrays import with_blocks
from freestone.graph.by_program import run_by_program
from freestone.graph.callbacks import Callbacks, callbacks_of
from freestone.graph.compiling import Compiler, Program
from freestone.graph.durations import Durations, Kinds, key_label, name_of, size_of
from freestone.graph.grouping import Group, Limits, group
from freestone.graph.persisting import as_nodes, is_to_persist
from freestone.graph.program import NOTE, run
from freestone.graph.reading import Graph, constant_of, read, specs_of
from freestone.graph.recomputing import Recomputing
from freestone.graph.reducing import Parts, check
from freestone.graph.rewriting import Reduction
from freestone.graph.stack import Stack
from freestone.graph.storing import run_here, tasks_here
from freestone.graph.tools import Packed, Tools, encode

__all__ = ["get", "run_graph"]

_PILOT_S = 0.3
"""Calls that take longer need no company. The first call of a cluster imports what it needs."""
_MAX_PILOT = 16
_PRIORITIES = 64
_MAX_TOOLS = 256
_MAX_LABELS = 8
_MAX_SAMPLES = 64
_LATE_S = 0.05
"""The seconds of a call are its last output: its results may be there before they are."""
_ARITY = 8
_AHEAD = 64
"""So many calls are written before the first of them is submitted: most tools are known then."""

_DASKS_OPTIONS = frozenset(
    {
        "cache",
        "chunksize",
        "flush",
        "fuse_keys",
        "func_dumps",
        "func_loads",
        "inline_functions_fast_functions",
        "num_workers",
        "optimizations",
        "pool",
        "rename_fused_keys",
        "rerun_exceptions_locally",
    }
)
"""What is for Dask's own schedulers, or for what Dask or xarray do before: they hand on all."""

_durations: WeakKeyDictionary[Client, Durations] = WeakKeyDictionary()


def get(
    client: Client, graph: Any, keys: Any, *, stack: Stack | None = None, **options: Any
) -> Any:
    """Run a Dask graph; see `Cluster.get`."""
    client.require_open("run a graph")
    stay = is_to_persist()
    options = {name: value for name, value in options.items() if name not in _DASKS_OPTIONS}
    stack = (stack or Stack()).with_options(options)
    flat = list(dict.fromkeys(_flat(keys)))
    with callbacks_of(graph) as callbacks:
        with no_collection():
            specs = with_blocks(specs_of(callbacks.graph), client)
            here = tasks_here(specs)
        if not here:
            found = _results(client, specs, flat, stack, callbacks, stay)
        else:
            inside = {*here}
            needed = {need: None for key in here for need in specs[key].dependencies}
            elsewhere = list(dict.fromkeys(key for key in [*needed, *flat] if key not in inside))
            values = _results(client, specs, elsewhere, stack, callbacks, stay=False)
            found = values | run_here(specs, inside, flat, values)
    return _shaped(keys, as_nodes(found) if stay else found)


def _results(
    client: Client, specs: Any, keys: list[Any], stack: Stack, callbacks: Callbacks, stay: bool
) -> dict[Any, Any]:
    """Compute keys of a graph on the cluster: values, or futures of those that are to stay."""
    has_views = stack.retain and stack.keep == "task" and not callbacks
    # To ask is a message to the manager's thread and back.
    slots = [worker["slots"] for worker in client.workers()]
    with no_collection():
        graph = read(
            specs,
            keys,
            is_tree=stack.tree and stack.retain,
            client=client,
            has_views=has_views and stack.fuse and len(slots) == 1,
        )
    callbacks.begin(graph)
    if not graph.wanted:
        results = {}
    elif stack.retain:
        results = run_graph(client, graph, stack, callbacks, stay, slots)
    else:
        results = run_by_program(client, graph, stack, callbacks)
    constants = graph.constants
    if stay:
        constants = {key: client.put(value, keep=stack.keep) for key, value in constants.items()}
    return {key: results[node] for key, node in graph.wanted.items()} | constants


def run_graph(
    client: Client,
    graph: Graph,
    stack: Stack,
    callbacks: Callbacks,
    stay: bool,
    slots: Sequence[int],
) -> dict[int, Any]:
    """Run a graph and return the values of the nodes that are wanted, or their futures.

    `slots` says how many calls each worker runs at once.
    """
    with no_collection():
        this_run = _Run(client, graph, stack, slots, hears_tasks=bool(callbacks))
        this_run.submit_all()
    return this_run.results(callbacks, stay)


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the collector of cycles from walking over a graph again and again while it is read."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _flat(keys: Any) -> Iterator[Hashable]:
    if isinstance(keys, list):
        for key in keys:
            yield from _flat(key)
    else:
        yield keys


def _shaped(keys: Any, values: dict[Hashable, Any]) -> Any:
    """Give values in the nesting of keys, tuples for lists, as Dask wants them."""
    if isinstance(keys, list):
        return tuple(_shaped(key, values) for key in keys)
    return values[keys]


@dataclass
class _Written:
    """A call that is written and not yet submitted.

    Attributes
    ----------
    partials : list of int
        Results that stand for some parts of a reduction.
    combined : set of int
        Those parts.
    """

    tasks: Sequence[int]
    program: Program
    tools: Tools
    partials: list[int] = field(default_factory=list)
    combined: set[int] = field(default_factory=set)


class _Run:
    """One run of one graph."""

    def __init__(
        self,
        client: Client,
        graph: Graph,
        stack: Stack,
        slots: Sequence[int],
        *,
        hears_tasks: bool = False,
    ) -> None:
        self.client, self.graph, self.stack = client, graph, stack
        self.durations = _durations.setdefault(client, Durations())
        kinds = Kinds()
        self.kinds = _kinds(graph, kinds)
        self.sizes = _sizes(graph)
        self.compiler = Compiler(graph, client, kinds)
        self.packed: Packed = {}
        self.tools = Tools(self.packed)
        self.futures: dict[int, Future] = dict(enumerate(graph.held))
        self.calls: list[tuple[Future, Program]] = []
        self.recomputing = Recomputing(graph)
        self.used = [0] * len(graph.nodes)
        self.labels: dict[Any, str] = {}
        # What is retained must be named by the graph alone, not by how long something took.
        self.is_measured = stack.keep == "task" and stack.fuse
        self.slots, self.is_one_worker = max(sum(slots), 1), len(slots) == 1
        # Callbacks hear of each task once, and other workers don't have its blocks.
        self.recomputes = self.is_measured and self.is_one_worker and not hears_tasks
        self.reductions = {
            number: node for number, node in enumerate(graph.nodes) if isinstance(node, Reduction)
        }
        numbers = {
            number: [self.compiler.node_of(key) for key in node.parts]
            for number, node in self.reductions.items()
        }
        self.parts = Parts(graph, numbers, self.is_measured and not stack.debug)
        self.checks: list[Future] = []
        self.reduced: dict[int, Future] = {}
        self.tasks: list[Sequence[int]] = []

    # -- planning ---------------------------------------------------------------------------

    def submit_all(self) -> None:
        """Submit the whole graph."""
        slots = self.slots
        first = len(self.graph.held)
        piloted = self._pilot(slots) if self.is_measured else first
        works = list(zip(self.kinds, self.sizes, strict=True))
        known = {work: self._expected(*work) for work in set(works)}
        seconds = [0.0] * first + [known[work] for work in works[first:]]
        priorities = self._priorities(seconds)
        groups = self._groups(seconds, slots, piloted, priorities)
        calls: list[Sequence[int]] = [one.tasks for one in groups]
        if self.recomputes:
            calls = self.recomputing.plan(groups, piloted, self.reductions)
        for start in range(0, len(calls), _AHEAD):
            some = [tasks for tasks in calls[start : start + _AHEAD] if tasks[0] >= piloted]
            for written in [self._write(tasks) for tasks in some]:
                priority = max(priorities[task] for task in written.tasks)
                if written.tasks[0] in self.reductions:
                    self._reduce(written.tasks[0], priority)
                else:
                    self._submit(written, priority)

    def _expected(self, kinds: Sequence[Any], size: int) -> float:
        """Give how long a task is expected to take that does these things."""
        return sum(self.durations.of(kind, size) for kind in kinds)

    def _are_known(self, tasks: Sequence[Sequence[Any]]) -> bool:
        return all(map(self.durations.knows, {kind for kinds in tasks for kind in kinds}))

    def _groups(
        self, seconds: Sequence[float], slots: int, piloted: int, ranks: Sequence[int]
    ) -> list[Group]:
        graph, stack = self.graph, self.stack
        if not stack.fuse:
            return [Group(0, [node]) for node in range(piloted, len(graph.nodes))]
        limits = Limits.of(sum(seconds[piloted:]), slots, chains_only=not self.is_measured)
        # All slots of one worker map its blocks; of several, calls go where their blocks are.
        free = len(graph.held) if self.is_measured and self.is_one_worker else 0
        return group(
            graph.needs, graph.users, seconds, limits, piloted, self.reductions, free, ranks
        )

    def _priorities(self, seconds: Sequence[float]) -> list[int]:
        """Rank nodes by the longest path through each; the cluster then goes depth first."""
        needs = self.graph.needs
        before, after = [0.0] * len(needs), [0.0] * len(needs)
        for node, found in enumerate(needs):
            before[node] = seconds[node] + max((before[need] for need in found), default=0.0)
        for node in range(len(needs) - 1, -1, -1):
            beyond = after[node] + seconds[node]
            for need in needs[node]:
                if after[need] < beyond:
                    after[need] = beyond
        longest = max(before, default=0.0) or 1.0
        return [
            int(_PRIORITIES * (one + other) / longest)
            for one, other in zip(before, after, strict=True)
        ]

    def _pilot(self, slots: int) -> int:
        """Run the first chains alone if tasks like these never ran; the number of the next node.

        The graph is numbered depth first, so what comes before the second leaf needs nothing else
        but blocks that are held.
        """
        needs, kinds, first = self.graph.needs, self.kinds, len(self.graph.held)
        if len(kinds) - first <= 8 * slots or self._are_known(kinds[first:]):
            return first
        leaves = (
            node
            for node in range(first + 1, len(needs))
            if all(need < first for need in needs[node])
        )
        ends = [node for node, _ in zip(leaves, range(slots), strict=False)]
        if (
            not ends
            or ends[-1] - first > _MAX_PILOT * slots
            or min(self.reductions, default=ends[-1]) < ends[-1]
        ):
            return first
        if self._are_known(kinds[first : ends[-1]]):
            return first
        chains = [range(*between) for between in pairwise([first, *ends])]
        for written in [self._write(chain) for chain in chains]:
            self._submit(written, _PRIORITIES)
        self._await_pilot(chains)
        return ends[-1]

    def _await_pilot(self, chains: Sequence[range]) -> None:
        """Wait until the first of the calls has ended; the others keep the slots busy meanwhile."""
        began = time.monotonic()
        wait([timing for timing, _ in self.calls], _PILOT_S, FIRST_COMPLETED)
        for timing, program in self.calls:
            if timing.status == "done":
                self._learn(timing, program)
        took = time.monotonic() - began
        for chain in chains:
            works = [(kind, self.sizes[node]) for node in chain for kind in self.kinds[node]]
            self.durations.at_least(works, took)

    # -- calls ------------------------------------------------------------------------------

    def _write(self, tasks: Sequence[int]) -> _Written:
        if not self.is_measured or len(self.tools) > _MAX_TOOLS:
            self.tools = Tools(self.packed)
        written = _Written(tasks, Program(), self.tools)
        for task in self.recomputing.steps_of(tasks):
            if task not in self.reductions:
                self.compiler.write(written.program, task, self.tools)
        for reduction, partial, parts in self.parts.runs_in(tasks):
            combine = self.reductions[reduction].recipe.combine
            slots = tuple(map(written.program.slot_of, parts))
            step = [self.tools.number(combine), None, slots, None]
            (kind,) = self.kinds[reduction]
            written.program.finish(partial, written.program.add(reduction, step, kind))
            written.partials.append(partial)
            written.combined.update(parts)
        return written

    def _submit(self, written: _Written, priority: int) -> None:
        tasks, program = written.tasks, written.program
        results = [
            task for task in self.recomputing.results_of(tasks) if task not in written.combined
        ]
        results += written.partials
        code, slots = program.seal(results)
        inputs = [self.futures[node] for node in program.inputs]
        arguments = (code, slots, *inputs, *program.constants)
        options = self.stack.call_options() | {"priority": priority}
        try:
            encoded = written.tools.encoded(run, self.stack.hoist)
            number = self.client.define(encoded, self._label(tasks[-1]))
            futures = self.client.call(number, arguments, options, len(results) + 1)
        except NotSerializableError as error:
            error.add_note(f"among Dask tasks {_some([self.graph.keys[task] for task in tasks])}")
            raise
        self.futures.update(zip(results, futures, strict=False))
        self.calls.append((futures[-1], program))
        self.tasks.append(tasks)
        self._release(tasks)

    def _reduce(self, node: int, priority: int) -> None:
        recipe = self.reductions[node].recipe
        blocks = [self.futures[part] for part in self.parts.left_of(node)]
        label = self._label(node)
        encoded = encode(recipe.combine, self.stack.hoist)
        number = self.client.define(encoded, label, as_block=False)
        options = self.stack.call_options() | {"priority": priority}
        if self.stack.debug:
            sample = (recipe.combine, label, recipe.commutes, *blocks[:3])
            self.checks.append(self.client.submit(check, sample, {}, {"pure": False}))
        if len(blocks) > 1:
            commutes = recipe.commutes
            whole = self.client.reduce(number, blocks, _ARITY, commutes=commutes, options=options)
            blocks = [whole]
        self.futures[node] = blocks[0]
        self.reduced[node] = blocks[0]
        self._release([node])

    def _release(self, tasks: Sequence[int]) -> None:
        """Let go of what no task needs that is still to be submitted."""
        for need in self.recomputing.needs_of(tasks):
            self.used[need] += 1
            if self.used[need] == self.recomputing.users[need]:
                self.futures.pop(need, None)
        for task in tasks:
            for part in self.parts.left_of(task) if task in self.reductions else ():
                if part >= len(self.graph.nodes):
                    self.futures.pop(part)

    def _label(self, task: int) -> str:
        """Give what people see: a function's code is sent once for each label, so there are few."""
        kind = self.kinds[task]
        label = self.labels.get(kind)
        if label is None:
            few = len(self.labels) < _MAX_LABELS
            label = key_label(self.graph.keys[task]) if few else "graph"
            self.labels[kind] = label
        return label

    # -- results ----------------------------------------------------------------------------

    def results(self, callbacks: Callbacks, stay: bool) -> dict[int, Any]:
        """Wait for all that is wanted: its values, or futures if it is to stay where it is."""
        try:
            if callbacks:
                self._follow(callbacks, stay)
            for future in self.checks:
                future.result()
            values = {}
            for node in set(self.graph.wanted.values()):
                future = self.futures.pop(node)
                values[node] = _made(future) if stay else future.result()
        except BaseException as error:
            self._explain(error)
            self.client.cancel([*(timing for timing, _ in self.calls), *self.reduced.values()])
            raise
        sampled = self.calls[:: max(1, len(self.calls) // _MAX_SAMPLES)]
        late = [timing for timing, _ in sampled if timing.status != "done"]
        if late:
            wait(late, _LATE_S)
        for timing, program in sampled:
            if timing.status == "done":
                self._learn(timing, program)
        return values

    def _follow(self, callbacks: Callbacks, stay: bool) -> None:
        """Tell Dask's callbacks of tasks as the calls end that they are in."""
        keys, wanted = self.graph.keys, {*self.graph.wanted.values()}
        calls = [
            (timing, [node for node in tasks if node not in self.reductions])
            for (timing, _), tasks in zip(self.calls, self.tasks, strict=True)
        ]
        calls += [(future, [node]) for node, future in self.reduced.items()]

        def end(nodes: Sequence[int]) -> None:
            for node in nodes:
                if node in wanted and not stay:
                    callbacks.done(keys[node], self.futures[node].result())
                else:
                    callbacks.done(keys[node], *constant_of(self.graph.nodes[node]))

        callbacks.follow(calls, end)

    def _learn(self, timing: Future, program: Program) -> None:
        """Take note of how long the tasks of a call took."""
        for owner, kind, seconds in program.took(timing._value()):
            self.durations.add(kind, seconds, self.sizes[owner])

    def _explain(self, error: BaseException) -> None:
        """Add to an error which Dask task raised it."""
        failed = next((one for one in self.calls if one[0].status == "failed"), None)
        if failed is None or not isinstance(error, Exception):
            return
        owners = failed[1].owners
        for note in getattr(error, "__notes__", ()):
            if note.startswith(NOTE):
                owners = [owners[int(note.removeprefix(NOTE))]]
                error.__notes__.remove(note)
                break
        keys = [self.graph.keys[owner] for owner in dict.fromkeys(owners)]
        error.add_note(f"in Dask task{'s' if len(keys) > 1 else ''} {_some(keys)}")


def _made(future: Future) -> Future:
    """Wait for a block, and leave it where it is."""
    error = future.exception()
    if error is not None:
        raise error
    return future


def _kinds(graph: Graph, kinds: Kinds) -> list[tuple[Any, ...]]:
    """Give what each node does, with the slices that it cuts."""
    made = [kinds.within(key, node) for key, node in zip(graph.keys, graph.nodes, strict=True)]
    if graph.views:
        for number, node in enumerate(graph.nodes):
            made[number] += tuple(kinds.of(key, view) for key, view in _views(graph, node))
    return made


def _sizes(graph: Graph) -> list[int]:
    """Give for each node the size of what it works on."""
    nbytes = [block.nbytes for block in graph.held]
    names = [name_of(key) for key in graph.keys]
    sizes = {name: size_of(nbytes, tasks) for name, tasks in Counter(names).items()}
    return [sizes[name] for name in names]


def _views(graph: Graph, node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the slices that a node's call cuts for it."""
    for need in node.dependencies:
        key = graph.aliases.get(need, need)
        view = graph.views.get(key)
        if view is not None and hasattr(view, "func"):
            yield key, view
            yield from _views(graph, view)


def _some(keys: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, keys[:3]))
    return shown if len(keys) <= 3 else f"{shown} and {len(keys) - 3} more"
