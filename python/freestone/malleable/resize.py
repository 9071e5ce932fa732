"""A resize in progress, on the sources.

It goes through stages, and changes from one to the next at the head of a step, on all sources at
the same one (see README.md beside this file):

    SPAWNING -> MOVING -> done
"""

from __future__ import annotations

import threading
import time
from typing import Any, Literal

import numpy as np

from freestone.errors import ResizeTimeoutError
from freestone.malleable import planning, together
from freestone.malleable.arrays import Array, Deal
from freestone.malleable.collective_spawn import spawn_together
from freestone.malleable.config import Config
from freestone.malleable.membership import Membership
from freestone.malleable.method import Method
from freestone.malleable.moving import Transport
from freestone.malleable.path import Path
from freestone.malleable.plans import Layout
from freestone.malleable.record import Resized
from freestone.malleable.spawning import (
    CANCEL,
    GO,
    SWITCH,
    Spawned,
    bridge_sources,
    is_collective,
)
from freestone.malleable.targets import Request
from freestone.malleable.transfer import Transfer, make_arrays, warm_rows
from freestone.malleable.waiting import wait_until

__all__ = ["Resize", "has_threads"]

# A message of a chunk takes some looks at either end.
_MIN_LOOKS = 100
# The root may have begun to wait later than others.
_GRACE_S = 10.0


class Resize:
    """Takes a membership from one size to another.

    Parameters
    ----------
    membership : Membership
        The sources.
    arrays : dict of str to Array
        What they hold.
    layouts : dict of int or str to Layout
        How, by the deal of arrays.
    request : Request
        How many processes there shall be, and where.
    method : Method
        How.
    config : Config
        The job's settings.
    step : int
        Steps done.
    path : Path
        To the loop that the sources are in.

    Attributes
    ----------
    passage : Passage or None
        Once all are connected.
    error : str
        Why it failed.
    """

    def __init__(
        self,
        membership: Membership,
        arrays: dict[str, Array],
        layouts: dict[Deal, Layout],
        request: Request,
        method: Method,
        config: Config,
        step: int,
        path: Path,
        job_began: float,
    ) -> None:
        self.transfer: Transfer | None = None
        self.error = ""
        self.request = request
        self.step = step
        self._job_began, self._began = job_began, time.time()
        self._spawned_s = self._bridged = self._switching = 0.0
        self._moving_since, self._looks = step, 0
        self._loop = path.loop
        self._membership, self._arrays, self._config = membership, arrays, config
        self._stage: Literal["spawning", "moving"] = "spawning"
        self.blueprint = planning.draw(
            membership.data,
            list(arrays.values()),
            layouts,
            membership.groups,
            membership.hosts,
            request,
            method,
            config,
        )
        self._bridge: Any = None
        self._spawned: Spawned | None = None
        self._spawner: threading.Thread | None = None
        if membership.rank == 0 and self.blueprint.joining_ranks:
            described = [array.description for array in arrays.values()]
            self._spawned = Spawned(
                self.blueprint.joining_ranks,
                config.spawn_timeout_s,
                (self.blueprint, described, path, config.agreed()),
            )

    @property
    def is_overlapped(self) -> bool:
        """Whether steps go on meanwhile."""
        return self.blueprint.method.is_overlapped

    def start(self) -> None:
        """Begin to spawn; in the background if steps go on and the library lets them."""
        joining_ranks = self.blueprint.joining_ranks
        await_them = None if self._spawned is None else self._spawned.start
        if joining_ranks and is_collective():
            data, timeout_s = self._membership.data, self._config.spawn_timeout_s
            self._bridge = spawn_together(data, self._spawned, joining_ranks, timeout_s)
            if self._bridge is None:
                return
            await_them = None if self._spawned is None else self._spawned.hear_all
        if await_them is None:
            if joining_ranks and not self.is_overlapped:
                # This process can't but wait until they are there.
                warm_rows(self._arrays.values(), self.blueprint, self._membership.rank)
        elif self.is_overlapped:
            self._spawner = threading.Thread(target=await_them, name="freestone-spawn")
            self._spawner.start()
        else:
            await_them()

    def test(self) -> bool:
        """Tell whether this process is ready for the next stage."""
        if self._stage == "spawning":
            return self._spawner is None or not self._spawner.is_alive()
        self._looks += 1
        return self.transfer is None or self.transfer.test()

    @property
    def has_failed(self) -> bool:
        """Whether joining ranks can't come, or are lost, as far as this process knows."""
        if self._spawned is None or (self._stage == "spawning" and not self.test()):
            return False
        # Between two looks rows hardly move: how long a step takes says nothing of who gets them.
        is_late = time.time() - self._bridged > self._config.timeout_s and self._looks >= _MIN_LOOKS
        if self._stage == "moving" and is_late:
            timeout_s = self._config.timeout_s
            problem = f"rows were not moved after {timeout_s:g} s"
            self._spawned.note(ResizeTimeoutError(problem, timeout_s=timeout_s))
        return self._spawned.has_failed()

    def advance(self, step: int) -> bool:
        """Go to the next stage, all sources together; tell whether only the switch is left.

        Parameters
        ----------
        step : int
            Steps done.
        """
        if self._stage == "moving":
            return True
        self._spawned_s = time.time() - self._began
        self.transfer = self._connect()
        self._stage, self._moving_since = "moving", step
        self.transfer.start(in_thread=self.blueprint.method.strategy == "thread")
        return not self.is_overlapped

    def follow(self, path: Path) -> None:
        """Have joining ranks come to the loop that the sources are in, if that is another by now.

        The root waits for them; the others wait for the root, in `agree_on_failure`.
        """
        if path.loop == self._loop:
            return
        self._loop = path.loop
        if self._spawned is not None and not self.has_failed:
            self._spawned.lead(path, is_connected=self.transfer is not None)

    def agree_on_failure(self) -> bool:
        """Tell all sources whether joining ranks can't come, without polling while they start."""
        if not self.blueprint.joining_ranks:
            return False
        code = np.array([int(self.has_failed)], np.int64)
        request = self._membership.data.Ibcast(code, root=0)
        # The root may wait so long for each group to start, and so long again until it is ready.
        spawning_s = 2 * len(self.blueprint.joining_ranks) * self._config.spawn_timeout_s
        wait_until(request.Test, spawning_s + self._config.timeout_s, "spawning")
        return bool(code[0])

    def finish_or_fail(self) -> bool:
        """Wait until no source has constant data to move; tell whether joining ranks are lost.

        All sources together, and all of them are told the same. Only the root sees that one is
        lost, and a source may wait for that one's answer.
        """
        if not self.blueprint.joining_ranks:
            return False
        barrier: Any = None

        def is_through() -> bool:
            nonlocal barrier
            if barrier is None and self.test():
                barrier = self._membership.data.Ibarrier()
            return barrier is not None and bool(barrier.Test())

        code = np.zeros(1, np.int64)
        timeout_s = self._config.timeout_s

        def what() -> str:
            rows = "moving rows" if self.transfer is None else self.transfer.pending()
            return f"{rows}, in the resize to {self.request.size} ranks,"

        nap_s = Transport.nap_s if self.transfer is None else self.transfer.nap_s
        if self._membership.rank == 0 and self._spawned is not None:
            try:
                wait_until(lambda: is_through() or self.has_failed, timeout_s, what, nap_s)
            except ResizeTimeoutError as error:
                # A joining rank hangs: it is lost, too.
                self._spawned.note(error)
            code[0] = self.has_failed
        alarm = self._membership.control.Ibcast(code, root=0)

        def is_reported() -> bool:
            is_through()
            return bool(alarm.Test())

        wait_until(is_reported, timeout_s + _GRACE_S, what, nap_s)
        # Whatever was begun together ends together.
        barrier = self._membership.data.Ibarrier() if barrier is None else barrier
        wait_until(barrier.Test, timeout_s, what, nap_s)
        return bool(code[0])

    def fail(self) -> Resized:
        """Undo what was done; all sources together."""
        spawned, transfer = self._spawned, self.transfer
        # Who has refused takes part to the end, in what all have begun together.
        seen = ("", False) if spawned is None else (spawned.error, spawned.is_refused)
        seen = together.tell(self._membership.data, seen, self._config.timeout_s, "a failure")
        self.error, is_refused = seen
        if transfer is not None and is_refused:
            self.cancel()
            return self._undone()
        if spawned is not None:
            spawned.dismiss()
        if transfer is not None:
            transfer.abandon(self._membership.size)
        return self._undone()

    def call_off(self, problem: str) -> Resized:
        """End without a switch, for a reason that all sources know; all of them together."""
        self.error = problem
        self.cancel()
        return self._undone()

    def _undone(self) -> Resized:
        for array in self._arrays.values():
            array.release([array.held(index) for index in range(len(array.storages))])
        return self.record(self.step, 0)

    def cancel(self) -> None:
        """End without a switch; all sources together."""
        if self.transfer is None:
            if self._spawner is not None:
                self._spawner.join()
            if self.has_failed and self._spawned is not None:
                self._spawned.dismiss()
            self._tell(CANCEL)
            return
        self._tell(CANCEL)
        self.transfer.finish_constants()
        self.transfer.bridge.Free()

    def switch(self) -> None:
        """Tell joining ranks that this is the step, and move what is left."""
        self._switching = time.time()
        if self.transfer is not None:
            self._tell(SWITCH)
            self.transfer.finish_constants()
            self.transfer.move_variables()

    def record(self, step: int, moved_nbytes: int) -> Resized:
        """Return what is to be written down at a step."""
        now = time.time()
        blueprint = self.blueprint
        return Resized(
            self.step,
            blueprint.before,
            blueprint.after,
            str(blueprint.method),
            self.error,
            step - self.step,
            step - self._moving_since,
            moved_nbytes,
            self._spawned_s,
            now - self._bridged if self._bridged else 0.0,
            now - self._began,
            self._began - self._job_began,
            now - self._switching if self._switching else 0.0,
        )

    def _connect(self) -> Transfer:
        """Join sources and joining ranks, and tell the joining ranks what they have to know."""
        joining_ranks, timeout_s = self.blueprint.joining_ranks, self._config.timeout_s
        if joining_ranks:
            if self._spawned is not None:
                self._spawned.tell(GO)
            bridge = self._bridge
            if bridge is None:
                groups = len(joining_ranks)
                bridge = bridge_sources(self._membership.data, self._spawned, groups, timeout_s)
            described = [array.description for array in self._arrays.values()]
            together.tell(
                bridge, (self.blueprint, described, self._membership.groups), timeout_s, "the plan"
            )
            make_arrays(bridge, described, self._arrays, timeout_s)
        else:
            (bridge,) = together.duplicates(self._membership.data, 1, timeout_s, "a resize")
        self._bridged = time.time()
        return Transfer(bridge, self._arrays, self.blueprint, timeout_s)

    def _tell(self, word: str) -> None:
        """Tell the joining ranks the last that the root tells them alone."""
        if self._spawned is not None:
            self._spawned.tell(word)
            self._spawned.free()


def has_threads() -> bool:
    """Tell whether several threads may call MPI at once."""
    from mpi4py import MPI

    return bool(MPI.Query_thread() == MPI.THREAD_MULTIPLE)
