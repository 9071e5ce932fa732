"""What ranks say at the head of a step, put together."""

from __future__ import annotations

from typing import Any

import pytest

from freestone.errors import CheckpointSkippedError
from freestone.malleable.heartbeat import _TAG_BREAK, Word, _Breaks, where_ranks_are
from tests.malleable.fakes import FakeComm


def together(*words: Word) -> Word:
    """Return what an all-reduce over the ranks makes of their words."""
    return Word.together(
        [max(column) for column in zip(*(w.numbers() for w in words), strict=True)]
    )


def test_one_request_reaches_all() -> None:
    assert together(Word(7), Word(7, size=300, method=17)) == Word(7, size=300, method=17)


def test_ready_means_all_and_failed_means_any() -> None:
    assert together(Word(1), Word(1, is_ready=False)).is_ready is False
    assert together(Word(1), Word(1)).is_ready is True
    assert together(Word(1), Word(1, has_failed=True)).has_failed is True
    assert together(Word(1, has_left=True), Word(1, has_left=True)).has_left is True


@pytest.mark.parametrize(
    ("word", "problem"),
    [(Word(5), "a rank has skipped"), (Word(3, has_left=True), "leave the loop at the same one")],
)
def test_a_skipped_checkpoint_is_seen(word: Word, problem: str) -> None:
    with pytest.raises(CheckpointSkippedError, match=problem) as caught:
        together(Word(3), word)
    assert caught.value.steps[0] == 3


def test_a_rank_that_leaves_a_loop_tells_one_other() -> None:
    mail: dict[tuple[int, int, int], list[Any]] = {}
    for rank in range(4):
        _Breaks(FakeComm(rank, 4, mail)).tell(5)
    _Breaks(FakeComm(0, 1, mail)).tell(5)
    assert {ends: len(words) for ends, words in mail.items()} == {
        (rank, (rank + 1) % 4, _TAG_BREAK): 1 for rank in range(4)
    }


def test_ranks_in_different_loops_are_seen_at_the_same_step() -> None:
    assert together(Word(3, loop=1), Word(3, loop=1)) == Word(3, loop=1)
    with pytest.raises(CheckpointSkippedError, match="a rank is in another loop") as caught:
        together(Word(3, loop=1), Word(3, loop=0))
    assert caught.value.steps == (3, 3)


def test_ranks_are_named_by_where_they_are() -> None:
    words = [(4, False, 0)] * 10 + [(5, False, 0), (4, True, 0)]
    assert where_ranks_are(words) == (
        "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more are at step 4, rank 10 is at step 5, rank 11 has "
        "left the loop in step 3"
    )
    assert where_ranks_are([(0, True, 0), (0, False, 0)]).startswith(
        "rank 0 has left the loop before step 0, rank 1 is at step 0"
    )
