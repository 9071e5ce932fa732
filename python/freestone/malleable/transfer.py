"""The way of all data from the sources to the targets, as both of them walk it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from freestone.malleable import together
from freestone.malleable.arrays import Array, Description
from freestone.malleable.hosts import host_name
from freestone.malleable.moving import Stream, Transport, meet_peers, transport
from freestone.malleable.planning import Blueprint
from freestone.malleable.storage import Storage
from freestone.malleable.waiting import wait_until

__all__ = ["Transfer", "make_arrays", "warm_rows", "warmed"]


def make_arrays(
    comm: Any, reported: Sequence[Description], mine: dict[str, Array], timeout_s: float
) -> dict[str, Array]:
    """Make the arrays that this rank does not have yet; collective.

    Shared arrays are mapped from any rank of the same host that has them, or else made by the
    first one there and mapped by the others.

    Parameters
    ----------
    comm : mpi4py communicator
        Of all who have the arrays or shall have them.
    reported : sequence of Description
        All arrays.
    mine : dict of str to Array
        Those that this rank has.
    timeout_s : float
        How long a wait may take.
    """
    here = host_name()
    shared = [description for description in reported if description.is_shared]
    handles = {d.name: mine[d.name].handles(here) for d in shared if d.name in mine}
    gathered = together.gather_all(comm, (here, handles), timeout_s, "shared memory")
    all_hosts = [host for host, _ in gathered]
    having = {host for host, theirs in gathered if theirs}
    found: dict[str, Any] = next(
        (theirs for host, theirs in gathered if host == here and theirs), {}
    )
    arrays = dict(mine)
    makes = bool(shared) and not found and all_hosts.index(here) == comm.rank
    if makes:
        for description in shared:
            parts = description.form.parts
            storages = [Storage(part.nbytes, mappable=True) for part in parts]
            arrays[description.name] = Array(description, storages)
        found = {d.name: arrays[d.name].handles(here) for d in shared}
    if shared and set(all_hosts) - having:
        made = (here, found if makes else None)
        for host, theirs in together.gather_all(comm, made, timeout_s, "shared memory"):
            if host == here and theirs:
                found = theirs
    for description in reported:
        if description.name not in arrays:
            arrays[description.name] = _make(description, found)
    # Until all have mapped it, whoever has a shared array has to live.
    together.meet(comm, timeout_s, "shared memory")
    return {description.name: arrays[description.name] for description in reported}


def _make(description: Description, found: dict[str, Any]) -> Array:
    parts = description.form.parts
    if description.is_shared:
        pairs = zip(parts, found[description.name], strict=True)
        storages = [Storage(part.nbytes, handle=handle) for part, handle in pairs]
    else:
        storages = [Storage(part.nbytes) for part in parts]
    return Array(description, storages)


def warmed(reported: Sequence[Description], blueprint: Blueprint, process: int) -> dict[str, Array]:
    """Make the arrays that a process has for itself, and touch the pages of its rows to come.

    First touches take longer than copies, and here nobody waits for them.

    Parameters
    ----------
    reported : sequence of Description
        All arrays.
    blueprint : Blueprint
        The plan.
    process : int
        Which one of sources and joining ranks it is.
    """
    arrays = {each.name: _make(each, {}) for each in reported if not each.is_shared}
    warm_rows(arrays.values(), blueprint, process)
    return arrays


def warm_rows(arrays: Iterable[Array], blueprint: Blueprint, process: int) -> None:
    """Touch the pages of the rows that a process shall have, and has for itself."""
    if process not in blueprint.process_of:
        return
    place = blueprint.process_of.index(process)
    for array in arrays:
        if array.is_shared:
            continue
        runs = blueprint.plans[array.deal].after.runs(place)
        ragged = blueprint.ragged.get(array.name, {})
        for part, storage in zip(array.form.parts, array.storages, strict=True):
            for span in part.spans(runs, ragged):
                storage.warm(*span)


class Transfer:
    """Moves constant data, then variable data, as one process takes part in it.

    Parameters
    ----------
    bridge : mpi4py communicator
        Sources, in the order of their ranks, then joining ranks.
    arrays : dict of str to Array
        Of this process; the same ones in the same order on all.
    blueprint : Blueprint
        The plan.
    timeout_s : float
        How long a wait may take.

    Attributes
    ----------
    place : int or None
        The rank that this process becomes, if any.
    sent_nbytes : int
        What it has sent.
    """

    def __init__(
        self, bridge: Any, arrays: dict[str, Array], blueprint: Blueprint, timeout_s: float
    ) -> None:
        self.bridge = bridge
        self.sent_nbytes = 0
        self._arrays = arrays
        self._blueprint = blueprint
        self._timeout_s = timeout_s
        addresses = {
            array.name: [storage.address for storage in array.storages] for array in arrays.values()
        }
        self._peers = meet_peers(bridge, host_name(), addresses, timeout_s)
        processes = blueprint.process_of
        self.place = processes.index(bridge.rank) if bridge.rank in processes else None
        self._constants: Transport | None = None
        self._thread: threading.Thread | None = None
        self._problem: BaseException | None = None
        for array in arrays.values():
            array.release(self._needed(array))

    def start(self, in_thread: bool = False) -> None:
        """Begin to move constant data."""
        self._constants = self._transport("constant")
        if in_thread:
            self._thread = threading.Thread(target=self._carry, name="freestone-redistribution")
            self._thread.start()
        else:
            self._constants.start()

    def _carry(self) -> None:
        try:
            if self._constants is not None:
                self._constants.start()
                self._constants.wait()
        except BaseException as error:
            self._problem = error

    def test(self) -> bool:
        """Tell whether this process has sent and received its constant data."""
        if self._thread is not None:
            return not self._thread.is_alive()
        return self._constants is None or self._constants.test()

    def pending(self) -> str:
        """Return what this process waits for, for errors."""
        rows = "rows" if self._constants is None else self._constants.pending()
        return f"moving {rows}"

    @property
    def nap_s(self) -> float:
        """How long who waits for constant data may sleep between two looks."""
        if self._constants is None or self._thread is not None:
            return Transport.nap_s
        return self._constants.nap_s

    def wait(self) -> None:
        """Wait for the constant data of this process."""
        wait_until(self.test, self._timeout_s, self.pending, self.nap_s)

    def abandon(self, sources: int) -> None:
        """Wait only for what sources send to sources: the others are lost, or sent home.

        Parameters
        ----------
        sources : int
            How many there are.

        Raises
        ------
        SpawnFailedError
            If rows move by other than messages point to point, of which none can be left out.
        """
        if self._constants is not None:
            self._constants.drop(sources)
        self.finish_constants()

    def finish_constants(self) -> None:
        """Wait for the constant data, on all processes together."""
        self.wait()
        if self._thread is not None:
            self._thread.join()
        if self._problem is not None:
            raise self._problem
        if self._constants is not None:
            self._constants.finish()
            self.sent_nbytes += self._constants.sent_nbytes

    def move_variables(self) -> None:
        """Move variable data, on all processes together."""
        variables = self._transport("variable")
        variables.start()
        variables.wait()
        variables.finish()
        self.sent_nbytes += variables.sent_nbytes
        together.meet(self.bridge, self._timeout_s, "the switch")

    def take_layout(self) -> None:
        """Have the new rows; a process that leaves lets go of its own."""
        if self.place is None:
            self._arrays.clear()
            return
        for array in self._arrays.values():
            plan = self._blueprint.plans[array.deal]
            array.take_layout(plan.after, self.place, self._blueprint.ragged.get(array.name, {}))

    def _transport(self, kind: str) -> Transport:
        redistribution = self._blueprint.method.redistribution
        streams = [
            Stream(
                array.storages[index],
                array.span(index),
                self._moves(array, index),
                array.name,
                index,
            )
            for array in self._arrays.values()
            if array.kind == kind
            for index in range(len(array.form.parts))
        ]
        pushes = self._blueprint.before > self._blueprint.after
        way = (redistribution, self.bridge, streams, self._timeout_s)
        return transport(*way, self._peers, pushes)

    def _moves(self, array: Array, index: int) -> list[Any]:
        plan = self._blueprint.plans[array.deal]
        ragged = self._blueprint.ragged.get(array.name, {})

        def is_one(source: int, target: int) -> bool:
            if source == target:
                return True
            return array.is_shared and self._peers[source].host == self._peers[target].host

        return array.moves(plan, index, ragged, is_one)

    def _needed(self, array: Array) -> list[list[tuple[int, int]]]:
        """Return the bytes of each part that this process has, and those that it shall have."""
        plan = self._blueprint.plans[array.deal]
        ragged = self._blueprint.ragged.get(array.name, {})
        spans = []
        for index, part in enumerate(array.form.parts):
            runs = [] if self.place is None else plan.after.runs(self.place)
            spans.append([*array.held(index), *part.spans(runs, ragged)])
        return spans
