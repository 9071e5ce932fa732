"""What ranks say at the head of a step, put together."""

from __future__ import annotations

import pytest

from freestone.errors import CheckpointSkippedError
from freestone.malleable.heartbeat import Word


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
    [(Word(5), "steps 3 to 5"), (Word(3, has_left=True), "some have left the loop")],
)
def test_a_skipped_checkpoint_is_seen(word: Word, problem: str) -> None:
    with pytest.raises(CheckpointSkippedError, match=problem) as caught:
        together(Word(3), word)
    assert caught.value.steps[0] == 3
