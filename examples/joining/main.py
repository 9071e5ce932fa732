"""Count primes with whoever is there: helpers may come while others are at work.

Rank 0 has the numbers, in pieces, and gives one to each rank that is idle. All others help, whether
they were there at the beginning or have come later; they need not be told apart.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from freestone import events as ev

__all__ = ["Dealer", "help_out", "primes_in"]

Piece = tuple[int, int]


def primes_in(piece: Piece) -> int:
    """Return how many primes there are from `piece[0]` up to, not including, `piece[1]`."""
    start, stop = piece
    is_prime = np.arange(start, stop) > 1
    for factor in range(2, int(stop**0.5) + 1):
        first = max(factor * factor, -(-start // factor) * factor)
        is_prime[first - start :: factor] = False
    return int(np.count_nonzero(is_prime))


class Dealer:
    """What rank 0 does: it gives pieces to who is idle, and adds up what they find.

    Attributes
    ----------
    primes
        How many have been found.
    helped
        How many pieces each rank has done.
    """

    def __init__(self, rank: ev.Rank, pieces: list[Piece]) -> None:
        self.rank, self.pieces, self.lacking = rank, pieces[::-1], len(pieces)
        self.primes, self.helped = 0, Counter[int]()
        rank.submit(self.welcome, on=[(ev.ANY, ev.RANK_JOINED)], persistent=True, name="welcome")
        rank.submit(self.give, on=[(ev.ANY, "idle")], persistent=True)
        rank.submit(self.add, on=[(ev.ANY, "found")], persistent=True)

    def welcome(self, event: ev.Event) -> None:
        """Say who has come: the task for which the run waits, however few there are."""
        print(f"rank {event.source} has come, there are {self.rank.size} now", flush=True)

    def give(self, event: ev.Event) -> None:
        """Give a piece to a rank, if there is one left."""
        if self.pieces:
            self.rank.fire(event.source, "piece", self.pieces.pop())

    def add(self, event: ev.Event) -> None:
        """Add up."""
        self.primes += event.data
        self.helped[event.source] += 1
        self.lacking -= 1
        if self.lacking == 0:
            self.rank.fire(ev.SELF, "done")


def help_out(rank: ev.Rank) -> None:
    """Be idle, and do the pieces that one gets."""

    def work(event: ev.Event) -> None:
        rank.fire(0, "found", primes_in(event.data))
        rank.fire(0, "idle")

    rank.submit(work, on=[(0, "piece")], persistent=True)
    rank.fire(0, "idle")


def main(rank: ev.Rank, limit: int, pieces: int) -> None:
    """Be a rank: the dealer, or a helper."""
    if rank.id > 0:
        help_out(rank)
        return
    ends = np.linspace(0, limit, pieces + 1).astype(int).tolist()
    dealer = Dealer(rank, list(itertools.pairwise(ends)))
    rank.wait([(ev.SELF, "done")])
    helped = ", ".join(f"rank {number}" for number in sorted(dealer.helped))
    print(f"{dealer.primes:,} primes below {limit:,}, found by {helped}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=2_000_000, help="numbers below it, 2,000,000")
    parser.add_argument("--pieces", type=int, default=40, help="parts of them, 40")
    options = parser.parse_args()
    ev.run(main, 3, args=(options.limit, options.pieces))
