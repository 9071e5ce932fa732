"""Workers of ranks: how many, on which cores; batches, locks and numbers of a run."""

import os

import pytest

from freestone import events as ev
from freestone.errors import BadEventError, ConfigurationError


def test_a_rank_has_as_many_workers_as_it_has_cores() -> None:
    cores = len(os.sched_getaffinity(0))
    assert ev.run(lambda rank: rank.workers, ranks=1) == [cores]
    counts = ev.run(lambda rank: rank.workers, ranks=2 * cores, threads=True)
    assert counts == [1] * 2 * cores


def test_workers_stay_on_the_cores_of_their_rank(capfd: pytest.CaptureFixture[str]) -> None:
    def main(rank: ev.Rank) -> tuple[list[int] | None, set[int]]:
        where = rank.submit(lambda: os.sched_getaffinity(0))
        return rank.cores, where.result()

    ((cores, where),) = ev.run(
        main, 1, threads=True, workers=1, mapping="linear", report_mapping=True
    )
    assert cores == [min(os.sched_getaffinity(0))]
    assert where == set(cores)
    assert f"rank 0: worker 0 on core {cores[0]}" in capfd.readouterr().err


def test_without_a_mapping_workers_are_anywhere() -> None:
    def main(rank: ev.Rank) -> tuple[list[int] | None, int | None, int | None]:
        return rank.cores, rank.worker, rank.submit(lambda: ev.current().worker).result()

    assert ev.run(main, 1, threads=True, workers=1) == [(None, None, 0)]


@pytest.mark.parametrize(("setting", "value"), [("mapping", "best"), ("report_mapping", "maybe")])
def test_a_mapping_that_there_is_not_is_refused(setting: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=setting):
        ev.run(print, 1, threads=True, **{setting: value})  # type: ignore[arg-type]


def test_events_come_in_batches() -> None:
    """Of three at once, and of fewer when their time is over."""

    def main(rank: ev.Rank) -> list[list[int]]:
        batches: list[list[int]] = []

        def batch(*events: ev.Event) -> None:
            batches.append([event.data for event in events])

        on = [(ev.ANY, "item")]
        rank.submit(batch, on, greedy=True, at_least=3, within_s=3600)
        for item in range(3):
            rank.fire(ev.SELF, "item", item)
        rank.drain()
        # The time of a batch begins with its first event: these two are there together.
        rank.fire(ev.SELF, "item", 3)
        rank.fire(ev.SELF, "item", 4)
        rank.submit(batch, on, persistent=True, greedy=True, at_least=3, within_s=0.05)
        rank.drain()
        rank.fire(ev.SELF, "item", 5)
        rank.drain()
        return batches

    assert ev.run(main, 1, threads=True, workers=1) == [[[0, 1, 2], [3, 4], [5]]]


@pytest.mark.parametrize(
    "settings",
    [
        {"greedy": True, "at_least": 3},
        {"greedy": True, "within_s": 1.0},
        {"greedy": True, "at_least": 0, "within_s": 1.0},
        {"at_least": 3, "within_s": 1.0},
    ],
)
def test_a_batch_without_a_size_or_a_time_is_refused(settings: dict[str, object]) -> None:
    def main(rank: ev.Rank) -> None:
        with pytest.raises(BadEventError, match="at_least"):
            rank.submit(print, [(ev.SELF, "item")], **settings)  # type: ignore[arg-type]

    ev.run(main, 1, threads=True)


def test_a_lock_is_looked_at_without_taking_it() -> None:
    def main(rank: ev.Rank) -> list[bool]:
        before = rank.holds_lock("a")
        rank.lock("a")
        other = rank.submit(lambda: ev.current().holds_lock("a")).result()
        return [before, rank.holds_lock("a"), other]

    # The wait for the other task lets the lock go, and takes it back.
    assert ev.run(main, 1, threads=True) == [[False, True, False]]


def test_a_rank_counts_what_it_does() -> None:
    def main(rank: ev.Rank) -> dict[str, int]:
        rank.fire(ev.ALL, "item", rank.id)
        rank.wait([(ev.ALL, "item")])
        rank.submit(print, [(ev.SELF, "never")], persistent=True)
        rank.fire(ev.SELF, "left")
        counts = rank.statistics()
        rank.wait([(ev.SELF, "left")])
        return counts

    for counts in ev.run(main, 3, threads=True, workers=1):
        assert {name: counts[name] for name in ("fired", "arrived", "unconsumed", "waiting")} == {
            "fired": 2,
            "arrived": 4,
            "unconsumed": 1,
            "waiting": 1,
        }
        assert (counts["workers"], counts["busy"], counts["ready"]) == (1, 0, 0)
