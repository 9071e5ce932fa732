"""Plans: the paper's pairs, small steps, and what any plan has to keep."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freestone.malleable import plans

ROWS = 960_000
SIZES = (2, 10, 20, 40, 80, 120, 160)
PAIRS = list(itertools.permutations(SIZES, 2))


def share(before: int, after: int, **options: bool) -> float:
    """Return the percentage of rows that move between even layouts."""
    plan = plans.plan(plans.even(ROWS, before), plans.even(ROWS, after), **options)
    return 100 * plan.moved() / ROWS


def test_what_moves_in_the_papers_pairs() -> None:
    assert len(PAIRS) == 42
    as_is = sum(share(*pair, relabel=False) for pair in PAIRS) / 42
    relabelled = sum(share(*pair) for pair in PAIRS) / 42
    bound = sum(100 * (1 - min(pair) / max(pair)) for pair in PAIRS) / 42
    assert [round(figure, 1) for figure in (as_is, relabelled, bound)] == [98.0, 74.4, 74.0]


def test_a_step_of_one() -> None:
    assert round(share(7, 8, relabel=False)) == 50
    assert round(share(7, 8), 1) == 28.6
    blocks = plans.even(7 * 8 * 16, 7 * 16)
    before = [block // 16 for block in range(7 * 16)]
    moves = plans.block_moves(blocks, before, plans.reassign(before, 8))
    moved = sum(move.stop - move.start for move in moves if move.source != move.target)
    assert moved / blocks.rows == 0.125


def test_nodes_of_twenty() -> None:
    before, after = plans.even(ROWS, 80), plans.even(ROWS, 160)
    nodes = [process // 20 for process in range(160)]
    assert plans.plan(before, after, relabel=False).crossing(nodes).total == 0.875 * ROWS
    plan = plans.plan(before, after, nodes=nodes)
    assert plan.crossing(nodes) == (0.5 * ROWS, 0.125 * ROWS)
    # No more moves inside nodes than without looking at them.
    assert plan.moved() == 0.5 * ROWS


def test_nodes_have_names() -> None:
    plan = plans.plan(plans.even(8, 2), plans.even(8, 4), nodes=["b", "a", "a", "b"])
    assert plan.process_of == (3, 0, 2, 1)
    assert plan.crossing(["b", "a", "a", "b"]) == (0, 0)


def test_who_leaves_has_no_place() -> None:
    before, after = plans.even(12, 4), plans.even(12, 2)
    assert plans.plan(before, after, leaving=[0, 3]).process_of == (1, 2)
    assert plans.plan(before, after, leaving=range(4)).process_of == (4, 5)
    assert plans.plan(before, after, relabel=False, leaving=[0]).process_of == (1, 2)


def test_a_plan_is_pickled_and_followed() -> None:
    plan = plans.plan(plans.even(12, 2), plans.even(12, 3))
    copy = pickle.loads(pickle.dumps(plan))
    assert (copy.process_of, copy.moves) == (plan.process_of, plan.moves)
    assert copy.after == plan.after
    assert plans.follow(plan.before, plan.after, plan.process_of).moves == plan.moves


def test_loads_and_weights() -> None:
    assert plans.by_load([0] * 10 + list(range(10, 21)), 2).offsets == [0, 10, 20]
    assert plans.weighted(10, [1, 3, 1]).of(1) == (2, 8)
    assert repr(plans.even(10, 2)) == "RowBlocks(10 rows on 2 places)"
    runs = plans.Runs([0, 2, 5, 6], [1, 0, 1], 3)
    assert repr(runs) == "RowRuns(6 rows in 3 runs on 3 places)"
    assert [runs.runs(place) for place in range(3)] == [[(2, 5)], [(0, 2), (5, 6)], []]
    for layout in (runs, plans.even(10, 2)):
        assert pickle.loads(pickle.dumps(layout)) == layout
        with pytest.raises(IndexError, match="there is no place 3"):
            layout.runs(3)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: plans.even(5, 0), "at least one place"),
        (lambda: plans.weighted(5, [1, -1]), "weight 1 is -1"),
        (lambda: plans.Rows([0, 5, 3]), "offset 2 of 3 is 3"),
        (lambda: plans.plan(plans.even(5, 1), plans.even(6, 1)), "5 and 6 rows"),
        (lambda: plans.plan(plans.even(5, 1), plans.even(5, 1), offsets=[0, 1]), "weighs 1 rows"),
        (lambda: plans.plan(plans.even(5, 1), plans.even(5, 1), offsets=[1] * 6), "offset 0"),
        (
            lambda: plans.plan(plans.even(5, 2), plans.even(5, 2), nodes="ab", leaving=[0]),
            "1 processes that may have one of 2 places",
        ),
        (
            lambda: plans.plan(plans.even(5, 1), plans.even(5, 2)).crossing("a"),
            "process 1 has no node",
        ),
        (lambda: plans.plan(plans.even(5, 1), plans.even(5, 2)).moved([0, 1]), "do not lie in"),
        (lambda: plans.block_moves(plans.even(5, 2), [0], [0, 1]), "1 entries for 2 places"),
        (lambda: plans.reassign([0], 0), "at least one place"),
    ],
)
def test_what_can_not_be_planned(call: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call()  # type: ignore[operator]


def test_there_is_no_such_place() -> None:
    with pytest.raises(IndexError, match="there are 2, from 0 on"):
        plans.even(5, 2).of(2)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[plans.Rows, plans.Rows]:
    """Draw two layouts of the same rows, some blocks empty."""
    rows = draw(st.integers(0, 40))
    inner = st.lists(st.integers(0, rows), max_size=6).map(sorted)
    first, second = ([0, *draw(inner), rows] for _ in range(2))
    return plans.Rows(first), plans.Rows(second)


@given(layouts(), st.booleans(), st.data())
def test_every_row_goes_from_where_it_is_to_where_it_shall_be(
    pair: tuple[plans.Rows, plans.Rows], relabel: bool, data: st.DataObject
) -> None:
    before, after = pair
    leaving = data.draw(st.sets(st.integers(0, before.places - 1)))
    plan = plans.plan(before, after, relabel=relabel, leaving=leaving)
    assert [row for move in plan.moves for row in range(move.start, move.stop)] == list(
        range(before.rows)
    )
    assert len(set(plan.process_of)) == after.places
    assert not set(plan.process_of) & leaving
    place_of = {process: place for place, process in enumerate(plan.process_of)}
    for move in plan.moves:
        old, new = before.of(move.source), after.of(place_of[move.target])
        assert old[0] <= move.start < move.stop <= old[1]
        assert new[0] <= move.start < move.stop <= new[1]
