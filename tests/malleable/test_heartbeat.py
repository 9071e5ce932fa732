"""What ranks say at the head of a step, put together."""

from __future__ import annotations

import pytest

from freestone.errors import CheckpointSkippedError
from freestone.malleable.heartbeat import Word, where_ranks_are


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


def test_ranks_are_named_by_where_they_are() -> None:
    words = [(4, False)] * 10 + [(5, False), (4, True)]
    assert where_ranks_are(words) == (
        "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more are at step 4, rank 10 is at step 5, rank 11 has "
        "left the loop after step 4"
    )
