"""Plans carried out in one process: every byte gets where it shall be, whatever the method."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.errors import RegistrationError, ResizeTimeoutError, SpawnFailedError
from freestone.malleable import plans
from freestone.malleable.arrays import Array, Description
from freestone.malleable.moving import Peer, Stream, direct, meet_peers, transport
from freestone.malleable.parts import Form, form_of
from freestone.malleable.planning import leaving, new_groups
from freestone.malleable.plans import Move, Plan, Rows, Runs
from freestone.malleable.spawning import Group
from freestone.malleable.storage import Storage
from tests.malleable.fakes import FakeComm

ROWS = 23
DTYPES = ["u1", "i2", "f4", "f8", "c16"]


def whole_of(kind: str, seed: int) -> Any:
    """Return all rows: of an odd width, or a matrix with empty rows."""
    chosen = np.random.default_rng(seed)
    dtype = DTYPES[seed % len(DTYPES)]
    if kind == "dense":
        return (100 * chosen.random((ROWS, seed % 4 + 1))).astype(dtype)
    lengths = chosen.integers(0, 5, ROWS) * (chosen.random(ROWS) < 0.5)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    columns = chosen.integers(0, 9, pointers[-1]).astype(np.int32)
    return scipy.sparse.csr_matrix((chosen.random(pointers[-1]), columns, pointers), (ROWS, 9))


def elements(whole: Any) -> Mapping[int, int]:
    """Return the elements before each row."""
    pointers = getattr(whole, "indptr", np.zeros(ROWS + 1))
    return {row: int(count) for row, count in enumerate(pointers)}


def holding(form: Form, layout: Rows, place: int, whole: Any) -> Array:
    """Return what a place of a layout holds."""
    array = empty(form)
    array.take_layout(layout, place, elements(whole))
    array.fill(whole[array.start : array.stop])
    return array


def empty(form: Form) -> Array:
    """Return what a joining rank holds."""
    storages = [Storage(part.nbytes) for part in form.parts]
    return Array(Description("a", "variable", form, False), storages)


def carry_out(plan: Plan, arrays: list[Array], whole: Any) -> int:
    """Move all bytes as any transport does, in any order, and return how many."""
    moved = 0
    for index in range(len(arrays[0].form.parts)):
        moves = arrays[0].moves(plan, index, elements(whole), lambda a, b: a == b)
        random.Random(index).shuffle(moves)
        for source, target, first, last in moves:
            sent = arrays[source].storages[index].view(first, last)
            arrays[target].storages[index].view(first, last)[...] = sent
            moved += last - first
    return moved


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["dense", "csr"]), st.integers(0, 30), st.booleans(), st.data())
def test_after_any_resizes_the_data_is_what_it_was(
    kind: str, seed: int, relabel: bool, data: st.DataObject
) -> None:
    whole = whole_of(kind, seed)
    form = form_of(whole[:0], ROWS, int(whole.indptr[-1]) if kind == "csr" else 0)
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=2, max_size=4))
    layout = plans.even(ROWS, sizes[0])
    arrays = [holding(form, layout, place, whole) for place in range(sizes[0])]
    for size in sizes[1:]:
        after = plans.even(ROWS, size)
        gone = data.draw(st.sets(st.integers(0, len(arrays) - 1)))
        plan = plans.plan(layout, after, relabel=relabel, leaving=gone)
        joining_ranks = max(plan.process_of) - len(arrays) + 1
        everyone = [*arrays, *(empty(form) for _ in range(joining_ranks))]
        carry_out(plan, everyone, whole)
        arrays = [everyone[process] for process in plan.process_of]
        for place, array in enumerate(arrays):
            array.take_layout(after, place, elements(whole))
        layout = after
    found = [array.local for array in arrays]
    if kind == "dense":
        together = np.concatenate(found)
        assert together.dtype == whole.dtype
        assert together.tobytes() == whole.tobytes()
    else:
        stacked = scipy.sparse.vstack(found, format="csr")
        assert stacked.data.tobytes() == whole.data.tobytes()
        assert np.array_equal(stacked.indices, whole.indices)
        assert np.array_equal(stacked.indptr, whole.indptr)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rows_in_several_runs_are_used_one_by_one(kind: str) -> None:
    whole = whole_of(kind, 4)
    form = form_of(whole[:0], ROWS, getattr(whole, "nnz", 0))
    layout = Runs([0, 4, 9, 20, ROWS], [1, 0, 2, 1], 4)
    arrays = [empty(form) for _ in range(4)]
    for place, array in enumerate(arrays):
        array.take_layout(layout, place, elements(whole))
        array.fill(*(whole[start:stop] for start, stop in layout.runs(place)))
    found = sorted((run for array in arrays for run in array.runs), key=lambda run: run[:2])
    assert [run[:2] for run in found] == [(0, 0), (0, 4), (4, 9), (9, 20), (20, ROWS)]
    for start, stop, local in found:
        assert (local != whole[start:stop]).sum() == 0
    assert arrays[0].local.shape[0] == 5
    assert arrays[3].local.shape[0] == 0
    assert arrays[0].rank_of([0, 3, 4, 19, 22]).tolist() == [1, 1, 0, 2, 1]
    assert arrays[0].rank_of(8) == 0
    assert repr(arrays[1]) == f"<variable 'a': rows 0 to 4, 20 to {ROWS} of {ROWS}>"
    for one in (lambda: arrays[1].local, lambda: arrays[1].start, lambda: arrays[1].stop):
        with pytest.raises(
            RegistrationError, match=r"'a' has 2 runs of rows on this rank; loop over"
        ):
            one()
    with pytest.raises(IndexError, match="'a' has no row 23: it has 23"):
        arrays[0].rank_of([1, ROWS])


def test_no_byte_moves_that_could_stay() -> None:
    whole = whole_of("dense", 3)
    form = form_of(whole[:0], ROWS, 0)
    before, after = plans.even(ROWS, 2), plans.even(ROWS, 4)
    plan = plans.plan(before, after)
    arrays = [holding(form, before, place, whole) for place in range(2)]
    arrays += [empty(form), empty(form)]
    row = whole[0].nbytes
    assert carry_out(plan, arrays, whole) == plan.moved() * row == (ROWS - 12) * row


def moved_by_messages(
    before: Rows, after: Rows, plan: Plan, lost: frozenset[int], hosts: int = 0
) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Send all rows point to point, and return the place and the rows of processes that live.

    Those of one of the hosts, if there are any, copy theirs.
    """
    count = before.places + after.places
    moves = [move._replace(start=8 * move.start, stop=8 * move.stop) for move in plan.moves]
    moves = [move for move in moves if move.source != move.target]
    whole = np.arange(ROWS, dtype=np.int64)
    storages = [Storage(whole.nbytes) for _ in range(count)]
    held = [(8 * a, 8 * b) for a, b in map(before.of, range(before.places))]
    held += [(0, 0)] * after.places
    for storage, (first, last) in zip(storages, held, strict=True):
        storage.view(first, last)[...] = whole.view(np.uint8)[first:last]
    mail: dict[tuple[int, int, int], list[Any]] = {}
    alive = [process for process in range(count) if process not in lost]
    # All of them are this process.
    peers = [
        Peer(f"host {process % hosts}", os.getpid(), {"": [storages[process].address]})
        for process in range(count if hosts else 0)
    ]
    carriers = [
        transport(
            "p2p",
            FakeComm(process, count, mail, lost),
            [Stream(storages[process], held[process], moves)],
            5.0,
            peers,
            pushes=before.places > after.places,
        )
        for process in alive
    ]
    for carrier in carriers:
        carrier.start()
        if lost:
            carrier.drop(before.places)
    for turn in range(100):
        random.Random(turn).shuffle(carriers)
        if all([carrier.test() for carrier in carriers]):
            break
    else:
        pytest.fail("it does not end")
    places = [(place, process) for place, process in enumerate(plan.process_of)]
    return [
        (place, storages[process].view(*(8 * row for row in after.of(place))).view(np.int64))
        for place, process in places
        if process in alive
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.booleans(), st.booleans(), st.integers(0, 3))
def test_rows_are_sent_or_copied_and_whoever_is_lost_is_not_waited_for(
    sources: int, targets: int, relabel: bool, joining_ranks_are_lost: bool, hosts: int
) -> None:
    before, after = plans.even(ROWS, sources), plans.even(ROWS, targets)
    plan = plans.plan(before, after, relabel=relabel)
    lost = range(sources, sources + targets) if joining_ranks_are_lost else ()
    found = moved_by_messages(before, after, plan, frozenset(lost), hosts)
    assert len(found) == min(sources, targets) if joining_ranks_are_lost else len(found) == targets
    for place, rows in found:
        assert np.array_equal(rows, np.arange(*after.of(place)))


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("p2p", "rows of 'x' from process 1 of the resize"), ("collective", "rows of 'y', 'x'")],
)
def test_rows_that_do_not_come_are_named(kind: str, missing: str) -> None:
    moves = [[Move(0, 1, 0, 8)], [Move(1, 0, 0, 8)], []]
    streams = [Stream(Storage(8), (0, 8), *one) for one in zip(moves, "yxz", strict=True)]
    carrier = transport(kind, FakeComm(0, 2, {}, frozenset({1})), streams, 0.01)
    carrier.start()
    with pytest.raises(ResizeTimeoutError, match=f"^moving {missing} was not done after 0.01 s"):
        carrier.wait()


def copying(pid: int, address: int) -> Any:
    """Return what copies eight bytes of another process into this one."""
    peers = [Peer("here", pid, {"x": [address]}), Peer("here", os.getpid(), {"x": [0]})]
    streams = [Stream(Storage(8), (0, 0), [Move(0, 1, 0, 8)], "x")]
    return transport("p2p", FakeComm(1, 2, {}), streams, 5.0, peers)


def test_rows_that_can_not_be_copied_are_named_and_a_process_that_has_ended_is_not() -> None:
    carrier = copying(os.getpid(), 8)
    carrier.start()
    with pytest.raises(
        OSError, match=r"^\[Errno \d+\] rows of 'x' can't be copied from process 0 of"
    ):
        carrier.test()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    carrier = copying(ended.pid, 8)
    carrier.start()
    carrier.test()


@pytest.mark.parametrize("is_refused", [False, True])
def test_one_process_that_may_not_read_another_one_makes_all_send_messages(
    is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("freestone.malleable.together.gather_all", lambda comm, mine, *_: [mine])
    monkeypatch.setattr(
        "freestone.malleable.together.sum_up", lambda comm, refused, *_: refused + is_refused
    )
    (peer,) = meet_peers(None, "here", {"x": [5]}, 5.0)
    assert (peer.host, peer.addresses, peer.is_reached(peer)) == (
        "here",
        {"x": [5]},
        not is_refused,
    )


def test_bytes_are_read_only_where_they_are_those_expected() -> None:
    found = np.arange(16, dtype=np.uint8)
    assert direct.reads(os.getpid(), found.ctypes.data, found.tobytes())
    assert not direct.reads(os.getpid(), found.ctypes.data, bytes(16))
    assert not direct.reads(os.getpid(), 8, bytes(16))


def test_what_needs_all_can_not_leave_one_out() -> None:
    streams = [Stream(Storage(8), (0, 8), [plans.Move(0, 1, 0, 8)])]
    transport("collective", FakeComm(0, 2, {}), [], 5.0).drop(1)
    carrier = transport("collective", FakeComm(0, 2, {}), streams, 5.0)
    with pytest.raises(SpawnFailedError, match="a method with p2p goes on without them"):
        carrier.drop(1)


@pytest.mark.parametrize("mappable", [False, True])
def test_pages_that_are_warm_take_no_faults_when_rows_come(mappable: bool) -> None:
    storage = Storage(4 << 20, mappable=mappable)
    storage.warm(5000, 4_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    storage.view(5000, 4_000_000)[...] = 3
    # A few are the interpreter's own; cold pages would be a thousand.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100
    assert not storage.view(0, 5000).any()


def test_shared_memory_is_the_same_memory() -> None:
    storage = Storage(10_000, mappable=True)
    other = Storage(10_000, handle=storage.handle("here"))
    storage.view(5, 8)[...] = 7
    assert other.view(4, 9).tolist() == [0, 7, 7, 7, 0]
    other.view(0, 10_000)[...] = 1
    storage.release(4000, 9000)
    assert other.view(4000, 9000).sum() == 9000 - 8192 + 96
    assert not Storage(5).is_mappable


def test_only_old_and_new_rows_keep_their_pages() -> None:
    whole = np.ones((4096, 512))
    form = form_of(whole[:0], len(whole), 0)
    array = Array(Description("a", "variable", form, False), [Storage(whole.nbytes)])
    array.take_layout(plans.even(len(whole), 1), 0, {})
    array.fill(whole)
    row = whole[0].nbytes
    array.release([[(3000 * row, 4000 * row), (100 * row, 200 * row)]])
    kept = np.flatnonzero(array.local[:, 0])
    assert kept.tolist() == [*range(100, 200), *range(3000, 4000)]


def test_one_sided_moves_ask_where_rows_begin_before_they_get_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported = []

    def gather_all(comm: Any, value: Any, *_: Any) -> list[Any]:
        reported.append("gather")
        return [value, value]

    window = SimpleNamespace(
        Lock_all=lambda: None,
        Rget=lambda view, source, place: reported.append((len(view), source, place[0])),
    )
    mpi = SimpleNamespace(Win=SimpleNamespace(Create=lambda *_, **__: window), BYTE=1)
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=mpi))
    monkeypatch.setattr("freestone.malleable.together.gather_all", gather_all)
    streams = [Stream(Storage(90), (first, 90), [Move(1, 0, 40, 60)]) for first in (0, 30)]
    transport("onesided", FakeComm(0, 2, {}), streams, 5.0).start()
    assert reported == ["gather", (20, 1, 40), (20, 1, 10)]


def test_what_is_constant_can_not_be_written() -> None:
    whole = whole_of("dense", 2)
    form = form_of(whole[:0], ROWS, 0)
    storages = [Storage(part.nbytes) for part in form.parts]
    array = Array(Description("a", "constant", form, False), storages)
    array.take_layout(plans.even(ROWS, 1), 0, {})
    array.fill(whole)
    with pytest.raises(ValueError, match="read-only"):
        array.local[0] = 1


def sparse_of(kind: str) -> Array:
    """Return a CSR matrix of all rows as one process has it."""
    whole = whole_of("csr", 4)
    form = form_of(whole[:0], ROWS, whole.nnz)
    storages = [Storage(part.nbytes) for part in form.parts]
    array = Array(Description("a", kind, form, False), storages)  # type: ignore[arg-type]
    array.take_layout(plans.even(ROWS, 2), 0, elements(whole))
    array.fill(whole[array.start : array.stop])
    return array


@pytest.mark.parametrize("kind", ["variable", "constant"])
def test_a_csr_matrix_is_used_where_it_lies(kind: str) -> None:
    array = sparse_of(kind)
    for index, part in ((1, array.local.indices), (2, array.local.data)):
        stored = array.storages[index].view(*array.span(index))
        assert part.__array_interface__["data"][0] == stored.__array_interface__["data"][0]
        assert part.flags.writeable == (kind == "variable")


def test_values_of_a_csr_matrix_that_were_replaced_are_kept() -> None:
    array = sparse_of("variable")
    want = 2 * array.local.data
    array.local.data = want.copy()
    assert array.problem() == ""
    array.take_layout(plans.even(ROWS, 2), 0, {array.start: 0, array.stop: len(want)})
    assert np.array_equal(array.local.data, want)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda matrix: matrix.resize(matrix.shape[0], 2), "has other non-zeros"),
        (lambda matrix: matrix.indptr.__setitem__(-1, 0), "has other non-zeros"),
        (lambda matrix: setattr(matrix, "data", 1j * matrix.data), "has values of type complex128"),
    ],
)
def test_a_csr_matrix_that_can_not_be_kept_is_known(change: Any, problem: str) -> None:
    array = sparse_of("variable")
    assert array.problem() == ""
    change(array.local)
    assert problem in array.problem()


def test_what_is_held_from_before_a_resize_can_not_be_written() -> None:
    dense = empty(form_of(np.zeros((0, 2)), ROWS, 0))
    sparse = sparse_of("variable")
    dense.take_layout(plans.even(ROWS, 2), 0, {})
    held = [dense.local, sparse.local.data]
    for array in (dense, sparse):
        array.take_layout(plans.even(ROWS, 1), 0, elements(whole_of("csr", 4)))
        assert array.local is not None
    for stale in held:
        with pytest.raises(ValueError, match="read-only"):
            stale[...] = 1


def test_what_is_made_of_rows_of_before_is_known() -> None:
    dense = empty(form_of(np.zeros((0, 2)), ROWS, 0))
    dense.take_layout(plans.even(ROWS, 2), 0, {})
    sparse = sparse_of("variable")
    held = [dense.local[1:, 0], sparse.local.data[::2]]
    for array in (dense, sparse):
        assert not array.is_held_from_before()
        for _ in range(2):
            array.take_layout(plans.even(ROWS, 1), 0, elements(whole_of("csr", 4)))
            assert array.local is not None
            assert array.is_held_from_before()
    held.clear()
    for array in (dense, sparse):
        assert not array.is_held_from_before()


def test_rows_that_the_program_replaced_itself_are_not_of_before_a_resize() -> None:
    array = empty(form_of(np.zeros((0, 2)), ROWS, 0))
    array.take_layout(plans.even(ROWS, 2), 0, {})
    held = [array.local]
    array.take_layout(plans.even(ROWS, 1), 0, {}, by_program=True)
    assert not array.is_held_from_before()
    with pytest.raises(ValueError, match="read-only"):
        held[0][...] = 1
    # What is still held when a resize comes is from before it, whoever replaced it first.
    array.take_layout(plans.even(ROWS, 2), 0, {})
    assert array.is_held_from_before()
    # That the program replaces rows does not hide it.
    array.take_layout(plans.even(ROWS, 1), 0, {}, by_program=True)
    assert array.is_held_from_before()
    held.clear()
    assert not array.is_held_from_before()


def test_local_takes_an_assignment() -> None:
    array = empty(form_of(np.zeros((0, 2)), ROWS, 0))
    array.take_layout(plans.even(ROWS, 1), 0, {})
    array.local += 2
    array.local = 3 * array.local
    assert np.array_equal(array.storages[0].view(0, array.form.nbytes).view(float), [6.0] * 46)
    sparse = sparse_of("variable")
    sparse.local *= 2
    with pytest.raises(RegistrationError, match=r"write into its local\.data in place"):
        sparse.local = sparse.local.copy()


def test_whole_groups_leave_the_newest_first() -> None:
    assert leaving([0, 0, 1, 1, 2], 3) == [2, 3, 4]
    assert leaving([0, 0, 1, 1, 2], 2) == [4]
    assert leaving([0, 0, 1, 1, 2], 1) == [4]
    assert leaving([2, 0, 0, 1], 4) == [0, 1, 2, 3]
    assert leaving([0, 0, 0], 1) == []


def test_a_group_is_spawned_on_each_host() -> None:
    assert new_groups(3, ["a"], None) == [Group(3)]
    assert new_groups(3, ["a"], {"a": 2, "b": 2}) == [Group(1, "a"), Group(2, "b")]
    assert new_groups(5, ["a"], {"a": 2, "b": 2}) == [Group(1, "a"), Group(2, "b"), Group(2)]
    assert new_groups(0, [], 4) == []
