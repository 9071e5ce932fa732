"""Sizes that processes tell each other, and what follows from them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from freestone.storage.ledger import ALL_BITS, ENTRY, Turn, ledger, sum_sizes


def entry(size: int) -> bytes:
    return ENTRY.pack(size, size ^ ALL_BITS)


@pytest.mark.parametrize(
    ("entries", "count", "wanted"),
    [
        (b"", 0, (0, 0)),
        (b"", 2, (2, 0)),
        (entry(5) + entry(0), 2, (0, 5)),
        (entry(5) + bytes(16) + entry(7), 4, (2, 12)),
        # Half of one is there, at the end of the file or within it.
        (entry(5)[:9], 1, (1, 0)),
        (entry(5)[:8] + bytes(8) + entry(1), 2, (1, 1)),
        (entry(1 << 40), 1, (0, 1 << 40)),
    ],
)
def test_sums(entries: bytes, count: int, wanted: tuple[int, int]) -> None:
    assert sum_sizes(entries, count) == wanted


@pytest.mark.parametrize("seed", range(20))
def test_offsets_whatever_the_order(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    sizes = [dice.choice([0, 1, 7, 1 << 33]) for _ in range(30)]
    front = dice.randrange(30)
    begin = 10 + sum(sizes[:front])
    order = list(range(front, 30))
    dice.shuffle(order)
    reported: set[int] = set()
    with ledger(str(tmp_path / "sizes")) as path:
        for number in order:
            turn = Turn(ledger=path, number=number, front=front, offset=begin, abreast=1)
            is_known = reported.issuperset(range(front, number))
            assert turn.find() == (10 + sum(sizes[:number]) if is_known else None)
            # A call that is made again tells the same.
            turn.tell(sizes[number])
            turn.tell(sizes[number])
            reported.add(number)
    assert not list(tmp_path.iterdir())


def test_patience_is_for_those_that_are_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, naps = 0.0, 0

    def sleep(seconds: float) -> None:
        nonlocal now, naps
        now, naps = now + seconds, naps + 1
        if naps == 3:
            Turn(ledger=path, number=1, front=0, offset=0, abreast=2).tell(4)

    monkeypatch.setattr("freestone.storage.ledger.time.sleep", sleep)
    monkeypatch.setattr("freestone.storage.ledger.time.monotonic", lambda: now)
    with ledger(str(tmp_path / "sizes")) as path:
        third = Turn(ledger=path, number=2, front=0, offset=0, abreast=2)
        assert third.find(patience_s=9) is None
        assert naps == 0, "two are missing, and only one other is at it"
        Turn(ledger=path, number=0, front=0, offset=0, abreast=2).tell(3)
        assert third.find(patience_s=1e-4) is None
        assert naps == 1
        assert third.find(patience_s=9) == 7
        assert naps == 3


def test_one_that_is_there_already_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "sizes").touch()
    with pytest.raises(FileExistsError), ledger(str(tmp_path / "sizes")):
        pass
    assert (tmp_path / "sizes").exists()
