"""The planning part, on tables alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.partitions import Holders
from freestone.partitions.planning import assign, cut, even_out, plan
from freestone.partitions.positions import Positions

SIZES = st.lists(st.integers(0, 1000), min_size=1, max_size=60)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Holders, np.ndarray, dict[int, int]]:
    slots = draw(st.dictionaries(st.integers(0, 20), st.integers(1, 4), min_size=1, max_size=6))
    sizes = draw(SIZES)
    holding = st.lists(st.sampled_from(sorted(slots)), max_size=3, unique=True)
    lists = [draw(holding) for _ in sizes]
    return Holders.from_lists(lists), np.array(sizes, np.int64), slots


@settings(deadline=None)
@given(table=tables(), per=st.sampled_from(["core", "worker", 1, 3]), balance=st.booleans())
def test_each_block_is_in_one_partition_on_a_worker_that_holds_it(
    table: tuple[Holders, np.ndarray, dict[int, int]], per: str | int, balance: bool
) -> None:
    holders, nbytes, slots = table
    workers = assign(holders, nbytes, slots)
    assert holders.moved(workers, nbytes) == 0
    if balance:
        workers = even_out(workers, nbytes, slots)
    plans = plan(workers, nbytes, slots, per)
    everything = np.concatenate([one.indexes for one in plans])
    assert sorted(everything.tolist()) == list(range(len(nbytes)))
    for one in plans:
        assert len(one.indexes) > 0
        assert (np.diff(one.indexes) > 0).all()
        assert (workers[one.indexes] == one.worker).all()
    counts = {worker: 0 for worker in slots}
    for one in plans:
        counts[one.worker] += 1
    most = {"core": None, "worker": 1}.get(str(per), per)
    for worker, count in counts.items():
        assert count <= (slots[worker] if most is None else int(most))


@settings(deadline=None)
@given(sizes=SIZES, count=st.integers(1, 10))
def test_a_run_is_cut_into_like_bytes(sizes: list[int], count: int) -> None:
    nbytes = np.array(sizes, np.int64)
    runs = cut(np.arange(len(sizes)), nbytes, count)
    assert len(runs) == min(count, len(sizes))
    assert all(len(run) for run in runs)
    assert np.concatenate(runs).tolist() == list(range(len(sizes)))


def test_equal_blocks_are_cut_evenly() -> None:
    for blocks, count in ((96, 2), (97, 4), (2304, 48), (7, 3)):
        runs = cut(np.arange(blocks), np.full(blocks, 1000), count)
        lengths = {len(run) for run in runs}
        assert max(lengths) - min(lengths) <= 1


def test_replicas_even_out_the_load() -> None:
    # All on worker 0, half also on worker 1: worker 1 takes those.
    lists = [[0, 1] if number % 2 else [0] for number in range(100)]
    workers = assign(Holders.from_lists(lists), np.full(100, 10), {0: 1, 1: 1})
    assert np.bincount(workers).tolist() == [50, 50]


@settings(deadline=None)
@given(
    holders=st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), max_size=4, unique=True),
            st.lists(st.integers(0, 4), max_size=4, unique=True),
            st.integers(1, 100),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_partners_are_kept_together_where_any_worker_has_both(
    holders: list[tuple[list[int], list[int], int]],
) -> None:
    ours, theirs, sizes = zip(*holders, strict=True)
    partners, nbytes = Holders.from_lists(theirs), np.array(sizes, np.int64)
    kept = Holders.from_lists(ours).beside([(partners, nbytes)])
    for block, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        found = kept.workers[kept.starts[block] : kept.starts[block + 1]].tolist()
        assert found == ([worker for worker in mine if worker in other] or mine)
    workers = assign(kept, nbytes, dict.fromkeys(range(5), 1))
    apart = [size for mine, other, size in holders if mine and other and not set(mine) & set(other)]
    alone = [mine for mine, other, _ in holders if not mine and other]
    assert partners.moved(workers, nbytes) == sum(apart) or alone


def test_blocks_that_are_nowhere_are_dealt_by_slots() -> None:
    workers = assign(Holders.from_lists([[]] * 100), np.full(100, 10), {0: 1, 5: 3})
    assert np.bincount(workers)[[0, 5]].tolist() == [25, 75]
    assert (np.diff(workers) >= 0).all()


def test_workers_that_have_gone_since_hold_nothing() -> None:
    holders = Holders.from_lists([[0], [1], [0, 1], [1, 2]]).among({0: 1, 2: 1})
    assert [holders.of(block) for block in range(4)] == [[0], [], [0], [2]]
    assert assign(holders, np.full(4, 10), {0: 1, 2: 1}).tolist() == [0, 2, 0, 2]
    assert holders.among([0, 2]) is holders


@settings(deadline=None)
@given(table=tables())
def test_balance_moves_no_more_than_the_surplus(
    table: tuple[Holders, np.ndarray, dict[int, int]],
) -> None:
    holders, nbytes, slots = table
    before = assign(holders, nbytes, slots)
    after = even_out(before, nbytes, slots)
    total, all_slots = int(nbytes.sum()), sum(slots.values())
    largest = int(nbytes.max())
    surplus = 0.0
    for worker, count in slots.items():
        share = total * count / all_slots
        held = float(nbytes[before == worker].sum())
        surplus += max(0.0, held - share)
        left = float(nbytes[after == worker].sum())
        assert abs(left - share) <= abs(held - share) + largest
    moved = float(nbytes[before != after].sum())
    assert moved <= surplus + largest * len(slots) / 2


def test_a_lopsided_collection_is_evened_out() -> None:
    before = np.zeros(100, np.int64)
    after = even_out(before, np.full(100, 10), {0: 1, 1: 1})
    assert np.bincount(after).tolist() == [50, 50]


def test_positions_are_runs() -> None:
    offsets = np.array([0, 10, 30, 31, 50, 60])
    positions = Positions.of(np.array([0, 1, 3]), offsets)
    assert positions.indexes == (range(0, 2), range(3, 4))
    assert positions.items == (range(0, 30), range(31, 50))
    assert positions.block_rows.tolist() == [10, 20, 19]


def test_a_hundred_thousand_blocks_on_a_hundred_workers() -> None:
    random = np.random.default_rng(0)
    counts = random.integers(1, 3, 100_000)
    starts = np.concatenate(([0], np.cumsum(counts)))
    holders = Holders(starts, random.integers(0, 100, starts[-1]))
    nbytes = random.integers(1, 1 << 20, 100_000)
    slots = dict.fromkeys(range(100), 8)
    plans = plan(assign(holders, nbytes, slots), nbytes, slots, "core")
    assert len(plans) == 800
    sizes = np.array([nbytes[one.indexes].sum() for one in plans])
    assert sizes.max() < 1.2 * sizes.mean()
