"""A job that may change its number of processes while it runs."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

from freestone.errors import (
    ConfigurationError,
    EngineMissingError,
    MalleableError,
    NoThreadsError,
)
from freestone.malleable import plans, registering, together
from freestone.malleable.arrays import Array, Kind
from freestone.malleable.choosing import Chooser
from freestone.malleable.config import Config
from freestone.malleable.crew import Crew, next_crew, own_host
from freestone.malleable.heartbeat import Heartbeat, Word
from freestone.malleable.method import METHODS, Method
from freestone.malleable.newcomer import Newcomer, end, pending
from freestone.malleable.passage import Passage, make_arrays
from freestone.malleable.progress import Progress
from freestone.malleable.record import Replicated, Resized
from freestone.malleable.registering import Load
from freestone.malleable.resize import Resize, has_threads
from freestone.malleable.spawning import SWITCH
from freestone.malleable.targets import Request, Status

__all__ = ["World"]

T = TypeVar("T")
_log = logging.getLogger("freestone.malleable")
_CURE = "pip install mpi4py mpich, and start the program by mpiexec -n 2 python -m mpi4py ..."


class _Leave(BaseException):
    """Takes a process that leaves out of its loop; never seen by the program."""


class World:
    """The ranks of a job, how many there may be at present, and their data.

    Every rank makes one, as a context; a process that is spawned later runs the same program and
    finds itself in the middle of the loop.

        with malleable.World(config) as world:
            A = world.constant("A", load_rows)
            x = world.variable("x", zeros)
            for step in world.steps(1000):
                x.local[...] = relax(A.local, x.local, world.comm)

    Parameters
    ----------
    config : Config or mapping, optional
        The settings, the same on all ranks.
    comm : mpi4py communicator, optional
        The ranks to begin with; by default all.
    **settings
        Settings by keyword.

    Attributes
    ----------
    changed : bool
        Whether this is the first step of this process on this layout: the first step of all, or
        after a resize. What is made from ``local`` and not registered is made anew then.
    resizes : list of Resized
        What was done, or failed.

    Raises
    ------
    ConfigurationError
        If a setting makes no sense.
    EngineMissingError
        Without mpi4py.
    NoThreadsError
        If a method needs several threads in MPI, and it was not started so.

    Notes
    -----
    A process that has to leave ends at the end of the ``with`` block: what comes behind it is run
    only by those that are left. A step costs one all-reduce of 56 bytes that nobody waits for,
    unless ranks are more than a step apart.
    """

    def __init__(
        self, config: Config | Mapping[str, Any] | None = None, *, comm: Any = None, **settings: Any
    ) -> None:
        if isinstance(config, Config):
            self._config = config
        else:
            self._config = Config.from_mapping({**(config or {}), **settings})
        self._host = own_host(self._config.slots)
        self._arrays: dict[str, Array] = {}
        self._layouts: dict[int, plans.Rows] = {}
        self._replicated: dict[str, Replicated[Any]] = {}
        self._told: dict[str, Any] = {}
        self.resizes: list[Resized] = []
        self.changed = True
        self._progress = Progress()
        # Loops that this process came to, all steps there will be, and when its last word was sent.
        self._seen, self._total, self._posted = 0, 0, 0.0
        self._resize: Resize | None = None
        self._closed = False
        newcomer = pending()
        self._check_threads()
        self._chooser = Chooser(self._config)
        self._crew = self._first(comm) if newcomer is None else self._join(newcomer)
        self._beat = Heartbeat(self._crew.control, self._config.timeout_s)
        self._is_primed = newcomer is not None
        for source in self._config.sources:
            source.open()

    # What the program asks.

    @property
    def comm(self) -> Any:
        """Today's communicator; another one after a resize."""
        return self._crew.comm

    @property
    def rank(self) -> int:
        """The rank of this process, today."""
        return self._crew.rank

    @property
    def size(self) -> int:
        """How many ranks there are, today."""
        return self._crew.size

    def constant(self, name: str, load: Load, rows: int | None = None) -> Array:
        """Register data that does not change: it moves while the steps go on.

        Parameters
        ----------
        name : str
            The same on all ranks.
        load : callable
            Given the first row and the end of the rows of a rank, returns an array of shape
            ``(k, ...)`` or a SciPy CSR matrix with ``k`` rows. Called once, by the ranks that
            begin the job.
        rows : int, optional
            Of all ranks; by default the configuration's.

        Returns
        -------
        Array
            With the rank's rows as ``local``, which can't be written.

        Raises
        ------
        RegistrationError
            If the ranks do not register the same, or what was loaded is of another shape.
        """
        return self._register(name, "constant", load, rows)

    def variable(self, name: str, load: Load, rows: int | None = None) -> Array:
        """Register data that changes in each step: it moves at the switch. See `constant`.

        Write into ``local`` in place; a CSR matrix may change its values, not its pattern: with
        another one it can't be moved, and resizes are refused.
        """
        return self._register(name, "variable", load, rows)

    def replicated(self, name: str, value: T) -> Replicated[T]:
        """Register a value that all ranks have; at a switch all get that of rank 0.

        Parameters
        ----------
        name : str
            The same on all ranks.
        value : object
            To begin with.
        """
        if name not in self._replicated:
            self._replicated[name] = Replicated(self._told.pop(name, value))
        return self._replicated[name]

    def steps(self, total: int) -> Iterator[int]:
        """Yield the steps of a loop; the head of each is a checkpoint, at which ranks may change.

        Parameters
        ----------
        total : int
            How many, counted from 0; a newcomer begins with the one that the others are at.

        Raises
        ------
        CheckpointSkippedError
            On all ranks, if one does not run through the same steps.
        ResizeTimeoutError
            If a rank does not come to the head of its step in time.
        """
        loop, self._seen = self._seen, self._seen + 1
        if loop < self._progress.loop:
            return
        self._total = self._progress.done - self._progress.index + total
        while self._progress.index < total:
            self._checkpoint()
            head = time.perf_counter()
            yield self._progress.index
            self._progress.step_over(self.size, time.perf_counter() - head)
            self.changed = False
        self._progress.loop_over()

    # The start.

    def _first(self, comm: Any) -> Crew:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise EngineMissingError(engine="MPI", missing=str(error), cure=_CURE) from error
        ranks = MPI.COMM_WORLD if comm is None else comm
        places = self._config.places
        if places is not None and ranks.size > places:
            problem = f"the job begins with {ranks.size} ranks, and there is room for {places}"
            raise ConfigurationError(f"{problem} (see slots and balance)", key="slots", origin="")
        return Crew.first(ranks, self._host)

    def _check_threads(self) -> None:
        method = self._config.method
        if isinstance(method, Method) and method.is_overlapped and not has_threads():
            problem = (
                f"{method} needs MPI_THREAD_MULTIPLE, and MPI was started with less; set "
                "mpi4py.rc.thread_level = 'multiple', or take a method that ends in 'sync'"
            )
            raise NoThreadsError(problem)

    def _join(self, newcomer: Newcomer) -> Crew:
        """Take part in the resize that this process was spawned for."""
        timeout_s = self._config.timeout_s
        mine = newcomer.prepare()
        bridge = newcomer.meet_sources(timeout_s)
        blueprint, told, groups = together.tell(bridge, None, timeout_s, "the plan")
        self._arrays = make_arrays(bridge, told, mine, timeout_s)
        passage = Passage(bridge, self._arrays, blueprint, timeout_s)
        passage.start()
        newcomer.wait(passage.test, timeout_s, "moving constant data", passage.nap_s)
        if newcomer.listen(timeout_s) != SWITCH:
            passage.finish_constants()
            end()
        newcomer.join()
        passage.finish_constants()
        passage.move_variables()
        self._layouts = {rows: plan.after for rows, plan in blueprint.plans.items()}
        self._told_to(passage, None, [])
        passage.settle()
        crew = next_crew(bridge, passage.place, blueprint, groups, self._host, timeout_s)
        bridge.Free()
        if crew is None:
            raise MalleableError("a newcomer got no rank (this is a bug; please report it)")
        return crew

    # Data.

    def _register(self, name: str, kind: Kind, load: Load, rows: int | None) -> Array:
        if name in self._arrays:
            return registering.again(self._arrays[name], kind, rows)
        count = self._config.rows if rows is None else rows
        array, layout = registering.register(self._crew, self._config, name, kind, load, count)
        self._arrays[name] = array
        self._layouts[array.rows] = layout
        return array

    # The head of a step.

    def _checkpoint(self) -> None:
        done = self._progress.done
        if done % self._config.check_every:
            return
        if not self._beat.is_out and not self._is_primed:
            self._beat.post(self._word(done))
        if self._beat.is_out:
            self._act(self._beat.read())
        self._is_primed = False
        self._beat.post(self._word(done + self._config.check_every))

    def _word(self, due: int) -> Word:
        """Return what this rank says; `due` is the step at which it will be read."""
        self._posted = time.time()
        resize = self._resize
        if resize is not None:
            ready, failed = resize.test(), resize.has_failed
            return Word(self._progress.done, is_ready=ready, has_failed=failed)
        request = self._ask(due)
        if request is None or request.size == self.size:
            return Word(self._progress.done)
        method = request.method or self._method_for(request.size)
        return Word(self._progress.done, request.size, METHODS.index(method))

    def _ask(self, due: int) -> Request | None:
        progress = self._progress
        status = Status(
            due,
            self._total,
            self.size,
            self._config.places,
            time.time() - progress.began,
            progress.means_s(),
            progress.asked,
            len(self.resizes),
            progress.since,
        )
        for source in self._config.sources:
            if self.rank > 0 and not source.asks_everywhere:
                continue
            request = source.ask(status)
            if request is not None:
                return request
        return None

    def _method_for(self, size: int) -> Method:
        method = self._config.method
        if isinstance(method, Method):
            return method
        return self._chooser.choose(self.size, size, len(set(self._crew.hosts)), has_threads())

    def _act(self, word: Word) -> None:
        """Do what all ranks have agreed on."""
        if self._resize is not None:
            if word.has_failed:
                self._give_up()
            elif word.is_ready:
                self._go_on(self._resize)
        elif word.size:
            self._begin(word.size, METHODS[word.method])

    def _begin(self, size: int, method: Method) -> None:
        step = self._progress.done
        self._progress.asked, self._progress.since = step, self._posted
        places = self._config.places
        if places is not None and size > places:
            error = f"{size} processes were asked for, and there are {places} slots"
            self._write(Resized(step, self.size, size, str(method), error))
            return
        self._resize = resize = Resize(
            self._crew, self._arrays, self._layouts, size, method, self._config, step
        )
        resize.start()
        if not resize.is_overlapped:
            self._go_on(resize)

    def _go_on(self, resize: Resize) -> None:
        """Take a resize to its next stage, or to its end."""
        if resize.agree_on_failure():
            self._give_up()
        elif resize.advance(self._progress.done):
            if resize.finish_or_fail():
                self._give_up()
                return
            problem = registering.unmovable(self._crew, self._config, self._arrays.values())
            if problem:
                self._resize = None
                self._write(resize.call_off(problem))
            else:
                self._switch()

    def _give_up(self) -> None:
        resize, self._resize = self._resize, None
        if resize is not None:
            self._write(resize.fail())

    def _switch(self) -> None:
        """Become the crew that was planned; processes without a place leave."""
        resize, self._resize = self._resize, None
        if resize is None or resize.passage is None:
            return
        resize.switch()
        passage, blueprint = resize.passage, resize.blueprint
        self._told_to(passage, resize, self.resizes)
        layouts = {rows: plan.after for rows, plan in blueprint.plans.items()}
        passage.settle()
        crew = next_crew(
            passage.bridge,
            passage.place,
            blueprint,
            self._crew.groups,
            self._host,
            self._config.timeout_s,
        )
        self._crew.free()
        passage.bridge.Free()
        if crew is None:
            raise _Leave
        self._crew, self._layouts = crew, layouts
        self._beat = Heartbeat(crew.control, self._config.timeout_s)
        self._is_primed = True
        self.changed = True

    def _told_to(self, passage: Passage, resize: Resize | None, resizes: list[Resized]) -> None:
        """Let all on the bridge know where the job is, as its rank 0 knows it."""
        bridge, timeout_s = passage.bridge, self._config.timeout_s
        moved = together.sum_up(bridge, passage.sent_nbytes, timeout_s, "the switch")
        state = None
        if resize is not None and bridge.rank == 0:
            record = resize.record(self._progress.done, moved)
            values = {name: item.value for name, item in self._replicated.items()}
            state = (record, resizes, values, self._progress)
        record, before, values, progress = together.tell(bridge, state, timeout_s, "the switch")
        for name, item in self._replicated.items():
            item.value = values[name]
        if resize is None:
            self.resizes, self._told = list(before), values
            self._progress = progress
        is_first = passage.place == 0
        self._write(record, is_first)

    def _write(self, record: Resized, is_first: bool | None = None) -> None:
        self.resizes.append(record)
        if self._crew_rank_is_first() if is_first is None else is_first:
            if record.error:
                _log.warning("the job goes on as it was: %s", record.error)
            if self._config.on_resize is not None:
                self._config.on_resize(record)

    def _crew_rank_is_first(self) -> bool:
        return self._crew.rank == 0

    # The end.

    def __enter__(self) -> World:
        """Return the world."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the loop on all ranks together; end the process, if it leaves."""
        for source in self._config.sources:
            source.close()
        if kind is None:
            self._close()
            return
        if kind is _Leave:
            end()
        is_agreed = isinstance(error, MalleableError)
        if self._crew.size > 1 and not is_agreed and not _is_good_end(error):
            # The others would wait for this rank for ever.
            traceback.print_exception(error)
            sys.stderr.flush()
            self._crew.comm.Abort(1)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._beat.is_out:
            self._beat.read()
        self._beat.post(Word(self._progress.done, has_left=True))
        self._beat.read()
        if self._resize is not None:
            self._resize.cancel()
        if self.rank == 0:
            for source in self._config.sources:
                source.finish()

    def __repr__(self) -> str:
        return f"<World: rank {self.rank} of {self.size}, {self._progress.done} steps done>"


def _is_good_end(error: BaseException | None) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)
