"""A job that may change its number of processes while it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar, cast

from freestone.errors import (
    CheckpointSkippedError,
    MalleableError,
    RegistrationError,
)
from freestone.malleable import dealing, misuse, registering
from freestone.malleable.arrays import Array, Deal, Kind
from freestone.malleable.checkpoints import Checkpoints
from freestone.malleable.choosing import Chooser
from freestone.malleable.config import Config
from freestone.malleable.gathering import Call, require_all
from freestone.malleable.heartbeat import Heartbeat
from freestone.malleable.joining import Joining
from freestone.malleable.joining_rank import end, pending
from freestone.malleable.membership import Membership, host_of, next_membership
from freestone.malleable.path import Once, call_once, label_of, not_joined
from freestone.malleable.plans import Layout
from freestone.malleable.progress import Progress
from freestone.malleable.record import Replicated, Resized
from freestone.malleable.registering import Load
from freestone.malleable.replicas import require_same_value
from freestone.malleable.resize import Resize
from freestone.malleable.restoring import Restoring, find
from freestone.malleable.saving import Saver, Snapshot
from freestone.malleable.spawning import count_world
from freestone.malleable.starting import check_threads, first_membership, keep_what_is_printed
from freestone.malleable.targets import Request, is_whole

__all__ = ["World"]

T = TypeVar("T")


class World(Checkpoints):
    """The ranks of a job, whose number may change, and their data.

    Every rank makes one, as a context. A process that is spawned later runs the same program and
    joins in the middle of the loop.

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
        The initial ranks; by default all.
    **settings
        Settings by keyword.

    Attributes
    ----------
    changed : bool
        Whether this is the first step of this process on this layout: the first step of all, or
        after a resize. Rebuild then what is derived from ``local`` and not registered.
    resizes : list of Resized
        Resizes that were carried out, or failed.
    saved : list of Saved
        States that were saved, or could not be, since this process takes part.

    Raises
    ------
    ConfigurationError
        If a setting makes no sense.
    SavedStateError
        If the file that the job is to go on from is damaged.
    EngineMissingError
        Without mpi4py.
    NoThreadsError
        If a method needs several threads in MPI, and it was not started so.

    Notes
    -----
    A process that leaves ends at the end of the ``with`` block: only the remaining ones run the
    code after it. A step costs one all-reduce of 56 bytes that nobody waits for, unless ranks
    are more than a step apart.
    """

    def __init__(
        self, config: Config | Mapping[str, Any] | None = None, *, comm: Any = None, **settings: Any
    ) -> None:
        keep_what_is_printed()
        count_world()
        if not isinstance(config, Config):
            config = Config.from_mapping({} if config is None else config)
        self._config = config.with_settings(settings)
        self._host = host_of(self._config)
        self._arrays: dict[str, Array] = {}
        self._layouts: dict[Deal, Layout] = {}
        self._replicated: dict[str, Replicated[Any]] = {}
        self.resizes: list[Resized] = []
        self.changed = True
        self._progress = Progress()
        # Loops this process came to, all steps there will be, when its last word was sent.
        self._seen, self._total, self._posted = 0, 0, 0.0
        self._resize: Resize | None = None
        self._again: Request | None = None
        self._asked: Request | None = None
        self._results: list[Once] = []
        self._saver = Saver(self._config, self._snapshot)
        self.saved = self._saver.saved
        self._is_entered = self._is_in_loop = self._has_to_leave = self._closed = False
        self._is_uneven = False
        joining_rank = pending()
        check_threads(self._config)
        self._chooser = Chooser(self._config)
        self._joining: Joining | Restoring | None = None
        if joining_rank is None:
            membership = first_membership(comm, self._config, self._host)
            self._joining = find(self._config.states, membership, self._config.timeout_s)
            if self._joining is None:
                self._take_part(membership, is_primed=False)
        else:
            self._joining = Joining(joining_rank, self._config)
        if self._joining is not None:
            self._arrays = self._joining.arrays
        for source in self._config.sources:
            source.open()

    def _take_part(self, membership: Membership, *, is_primed: bool) -> None:
        self._membership = membership
        self._beat = Heartbeat(membership.control, self._config.timeout_s)
        self._is_primed = is_primed

    # What the program asks.

    @property
    def is_joining(self) -> bool:
        """Whether this process was spawned, or goes on from a saved state, and is not there yet."""
        return self._joining is not None

    @property
    def comm(self) -> Any:
        """The current communicator; a resize replaces it."""
        return self._members("world.comm").comm

    @property
    def rank(self) -> int:
        """The current rank of this process."""
        return self._members("world.rank").rank

    @property
    def size(self) -> int:
        """The current number of ranks."""
        return self._members("world.size").size

    def _members(self, what: str) -> Membership:
        if self._joining is not None:
            raise not_joined(what)
        return self._membership

    def constant(self, name: str, load: Load, rows: int | None = None) -> Array:
        """Register data that does not change: it moves while the steps go on.

        Parameters
        ----------
        name : str
            The same on all ranks.
        load : callable
            Given the first row and the end of the rows of a rank, returns an array of shape
            ``(k, ...)`` or a SciPy CSR matrix with ``k`` rows. Called once, by the ranks that
            begin the job; by a rank that has several runs of rows for each of them.
        rows : int, optional
            Of all ranks; by default the configuration's.

        Returns
        -------
        Array
            With the rank's rows as ``local``, which can't be written.

        Raises
        ------
        RegistrationError
            On all ranks, if they do not register the same, one has this name already or gives no
            name, or what was loaded is of another shape.
        ResizeTimeoutError
            On all ranks that wait, if one does not come to register it in time.
        """
        return self._register(name, "constant", load, rows)

    def variable(self, name: str, load: Load, rows: int | None = None) -> Array:
        """Register data that changes in each step: it moves at the switch. See `constant`.

        Write into ``local`` in place; a CSR matrix may change its values, not its pattern: with
        another one it can't be moved, and resizes are refused.
        """
        return self._register(name, "variable", load, rows)

    def replace(self, rows: Mapping[Array, Any]) -> None:
        """Give variable data other rows: particles that come and go, or a mesh that is refined.

        All ranks call it together, for the same arrays. Rank 0's rows come first, then rank 1's.

        Parameters
        ----------
        rows : mapping of Array to array of shape (k, ...) or CSR matrix of k rows
            The rows of this rank from now on, which are copied. `k` may be any number, 0 on all
            ranks too, the same for all arrays of the mapping: those lie alike, also after a resize.

        Raises
        ------
        RegistrationError
            On all ranks, for constant data, and other types or shapes; then nothing has changed.

        Notes
        -----
        Two small collectives; no row is sent. A resize that goes on is called off, and begun anew;
        then the job waits for it.
        """
        membership = self._members("world.replace")
        names = ", ".join(repr(array.name) for array in rows)
        self._require_all(f"replaces rows of {names}", names)
        self._begin_anew(f"rows of {names} were replaced meanwhile", waits=True)
        key, layout = registering.replace(membership, self._config, rows)
        self._layouts[key] = layout

    def rebalance(self) -> None:
        """Deal the rows anew to the ranks that there are, by the settings, as a resize does.

        All ranks call it in the same step, or one does. The rows move at the heads of the next
        steps; it is written down in `resizes`.
        """
        self._members("world.rebalance")
        self._is_uneven = True

    def replicated(self, name: str, value: T) -> Replicated[T]:
        """Register a value that all ranks have; at a switch all get that of rank 0.

        Parameters
        ----------
        name : str
            The same on all ranks.
        value : object
            To begin with, the same on all ranks; what differs between them, as the time does, is
            given by ``world.once(time.time)``.

        Raises
        ------
        RegistrationError
            On all ranks, if they do not register the same, one has this name already or gives no
            name, or another value than rank 0: with the rank and the element.

        Notes
        -----
        Checksums of the pickled values are compared; values themselves if those differ.
        """
        if self._joining is not None:
            self._joining.replicate(name, value)
        else:
            self._require_new(name, f"replicated {name!r}")
            require_same_value(self._membership.data, name, value, self._config.timeout_s)
        found = self._replicated[name] = Replicated[T](name)
        if self._joining is None:
            found.adopt(value)
        return found

    def once(self, function: Callable[[], T]) -> T:
        """Call what the job does once, before a loop: set-up, or work between two loops.

        Parameters
        ----------
        function : callable
            Without arguments; called by all ranks that there are, which may use ``world.comm`` and
            the data. Joining ranks do not call it.

        Returns
        -------
        object
            What it returned on rank 0, on all ranks, including those that join later.

        Raises
        ------
        JoiningError
            On all ranks, if that can't be pickled; on a joining rank, which then does not join, if
            the others have not made this call here.
        RegistrationError, ResizeTimeoutError
            On all ranks, if one makes another call here, or none within ``timeout_s``.

        Notes
        -----
        A broadcast of the result, which is kept while the job lives.
        """
        self._require_no_loop(f"{label_of(function)} is called once")
        if self._joining is not None:
            return cast(T, self._joining.once(function, self._seen))
        # Functions may differ by rank: the result is that of rank 0.
        problem = registering.no_function("world.once", function)
        self._require_all("calls a function once", "once", problem)
        made, value = call_once(self._membership.data, self._seen, function)
        self._results.append(made)
        return cast(T, value)

    def _require_no_loop(self, what: str) -> None:
        if self._is_in_loop:
            problem = (
                f"{what} inside of a loop, where joining ranks may come by too late; do it before "
                "the loop, on all ranks (and keep no iterator of a loop that was left by break)"
            )
            raise RegistrationError(problem, name=what)

    def steps(self, total: int) -> Iterator[int]:
        """Yield the steps of a loop; the head of each is a checkpoint, at which ranks may change.

        Parameters
        ----------
        total : int
            How many, counted from 0; a joining process begins with the current step of the
            others.

        Raises
        ------
        CheckpointSkippedError
            On all ranks, if one does not run through the same steps.
        ResizeTimeoutError
            If a rank does not come to the head of its step in time.
        RegistrationError
            If `total` is no whole number of at least 0.
        """
        if not is_whole(total, 0):
            problem = f"world.steps({total!r}): give a whole number of steps, of at least 0"
            raise RegistrationError(problem, name="steps")
        if not self._is_entered or self._closed:
            problem = "world.steps needs its context; write: with malleable.World(...) as world:"
            raise MalleableError(problem)
        loop, self._seen = self._seen, self._seen + 1
        if self._joining is not None:
            if not self._joining.is_due_at(loop):
                return
            if isinstance(self._joining, Restoring):
                self._restore(self._joining)
            else:
                self._join(self._joining)
        dealing.require_weights(self._config, self._arrays)
        # The one before may not be closed yet, if it was left by break.
        self._leave_loop(loop - 1)
        self._is_in_loop = True
        self._total = self._progress.done - self._progress.index + total
        try:
            while self._progress.index < total:
                self._saver.save_if_asked()
                self._checkpoint()
                self._saver.save_if_due(self._progress.done)
                head = time.perf_counter()
                yield self._progress.index
                self._require_loop(loop)
                self._progress.step_over(self.size, time.perf_counter() - head)
                if self.changed:
                    misuse.warn_of_stale(self._arrays.values())
                self.changed = False
            self._saver.save_if_asked()
            self._progress.loop_over()
        finally:
            self._leave_loop(loop)

    def _leave_loop(self, loop: int) -> None:
        """Go on to the next loop, if this one was left in the middle of a step."""
        self._is_in_loop = False
        self._saver.forget()
        if self._progress.loop == loop and not self._has_to_leave:
            self._beat.break_off(self._progress.done)
            self._progress.break_off()

    def _require_loop(self, loop: int) -> None:
        if self._progress.loop != loop:
            problem = "loops over world.steps are nested; let one end before the next one begins"
            raise CheckpointSkippedError(problem, steps=(self._progress.done, self._progress.done))

    # The start.

    def _join(self, joining: Joining) -> None:
        """Take part in the resize that this process was spawned for."""
        transfer, blueprint, bridge = joining.join(), joining.blueprint, joining.bridge
        self._layouts = {key: plan.after for key, plan in blueprint.plans.items()}
        self._arrays = joining.arrays
        self._share(transfer, None, [])
        transfer.take_layout()
        self._host = joining.host or self._host
        given = (joining.groups, self._host, self._config.timeout_s)
        membership = next_membership(bridge, transfer.place, blueprint, *given)
        bridge.Free()
        if membership is None:
            raise MalleableError("a joining rank got no rank (a bug; please report it)")
        self._joining = None
        self._take_part(membership, is_primed=True)

    def _restore(self, restoring: Restoring) -> None:
        """Have the rows and values of a saved state, and go on at its step."""
        contents = restoring.contents
        self._layouts = restoring.read(self._config)
        self._progress, self._results = contents.progress, list(contents.way.results)
        for name, item in self._replicated.items():
            item.adopt(contents.values[name])
        self._joining = None
        self._take_part(restoring.membership, is_primed=False)

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Save all registered data and the step, at the head of the next step or the loop's end.

        Parameters
        ----------
        path : path, optional
            By default that of the setting ``saves``; replaced once the new one is on the disk.
            Links are followed. A device, a pipe, a socket or a folder is not replaced.

        Raises
        ------
        MalleableError
            Outside of a loop.
        ConfigurationError
            Without a file.

        Notes
        -----
        All ranks call it in the same step, and wait until each has written its rows. If that fails,
        the job goes on with a message, and the file that was there stays. See `saved`.
        """
        self._saver.ask(path, is_in_loop=self._is_in_loop)

    def _snapshot(self) -> Snapshot:
        values = {name: item.value for name, item in self._replicated.items()}
        return Snapshot(self._membership, self._arrays, self._path(), self._progress, values)

    def _register(self, name: str, kind: Kind, load: Load, rows: int | None) -> Array:
        if self._joining is not None:
            return self._joining.register(name, kind, rows, load)
        count = self._config.rows if rows is None else rows
        problem = registering.no_function(f"world.{kind}({name!r}, ...)", load)
        self._require_new(name, f"{kind} {name!r} of {count} rows", problem)
        self._begin_anew(f"{name!r} was registered meanwhile")
        array, layout = registering.register(
            self._membership, self._config, name, kind, load, count, self._layouts
        )
        self._arrays[name] = array
        self._layouts[array.deal] = layout
        return array

    def _require_new(self, name: str, what: str, problem: str = "") -> None:
        """Require that all ranks register a name that none of them has yet; all together."""
        self._require_no_loop(f"{name!r} is registered")
        problem = problem or registering.no_name(name)
        if not problem:
            there = self._arrays.get(name) or self._replicated.get(name)
            problem = "" if there is None else registering.twice(name, there)
        self._require_all(f"registers {what}", str(name), problem)

    def _require_all(self, what: str, name: str, problem: str = "") -> None:
        call = Call(what, name, self._progress.done, problem)
        require_all(self._membership.control, call, self._config.timeout_s)

    # The end.

    def __enter__(self) -> World:
        """Return the world."""
        self._is_entered = True
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
        if self._joining is not None:
            if error is None:
                raise self._joining.end_of_program()
            return
        if self._has_to_leave:
            end()
        if error is None or misuse.is_good(error):
            try:
                self._close()
            except MalleableError as skipped:
                error = skipped
                if self._resize is None:
                    raise
        if error is not None and not misuse.is_good(error) and not self._can_end_by(error):
            # The others would wait for this rank for ever.
            misuse.report(error, was_resized=bool(self.resizes))
            self._membership.comm.Abort(1)

    def _can_end_by(self, error: BaseException) -> bool:
        """Tell whether an error leaves nobody behind: all ranks have it, or there is one rank."""
        if self._resize is not None:
            return False
        if self.size == 1:
            return True
        word = self._here(has_left=True)
        timeout_s = min(self._config.timeout_s, misuse.TIMEOUT_S)
        return isinstance(error, MalleableError) and self._beat.is_left_by_all(word, timeout_s)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._beat.has_ended:
            return
        if self._beat.is_out:
            self._beat.read()
        self._beat.meet(self._here(has_left=True))
        self._end_resize()
        if self.rank == 0:
            for source in self._config.sources:
                source.finish()
            self._saver.remove()

    def __repr__(self) -> str:
        if self._joining is not None:
            return "<World: joining>"
        return f"<World: rank {self.rank} of {self.size}, {self._progress.done} steps done>"
