"""Which worker makes which block."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from freestone.collections.placing import by_turns, dealt, drawn_to
from freestone.observe.figures import WorkerFigures, WorkerStatus


def cluster(*workers: tuple[str, int]) -> Any:
    figures = [
        SimpleNamespace(worker=f"worker-{number}", host=host, slots=slots)
        for number, (host, slots) in enumerate(workers)
    ]
    return SimpleNamespace(statistics=lambda: SimpleNamespace(workers=tuple(figures)))


def cuts(blocks: int, rows: int = 10) -> Any:
    return np.arange(blocks + 1) * rows


def test_runs_go_by_executors() -> None:
    assert dealt(cluster(("a", 1), ("b", 3)), cuts(8)) == [0] * 2 + [1] * 6
    assert dealt(cluster(), cuts(3)) == [None] * 3


def test_blocks_go_where_they_are_held() -> None:
    hosts = [["b", "a"], ["a"], ["b"], ["a"]]
    found = drawn_to(cluster(("a.cluster.local", 1), ("B", 1)), cuts(4), hosts)
    assert [found[0], found[1], found[2], found[3]] == [1, 0, 1, 0]


def test_a_replica_on_a_host_with_less_to_do_is_taken() -> None:
    hosts = [["a", "b"]] * 6
    found = drawn_to(cluster(("a", 1), ("b", 1)), cuts(6), hosts)
    assert sorted(map(str, found)) == ["0"] * 3 + ["1"] * 3


def test_no_worker_gets_more_than_a_quarter_over_its_share() -> None:
    found = drawn_to(cluster(("a", 1), ("b", 1)), cuts(8), [["a"]] * 8)
    assert (found.count(0), found.count(1)) == (5, 3)
    found = drawn_to(cluster(("a", 3), ("b", 1)), cuts(8), [["a"]] * 8)
    assert (found.count(0), found.count(1)) == (7, 1)


def test_a_storage_target_is_read_by_one_worker() -> None:
    targets = [["ost-1"], ["ost-2"], ["ost-1"], ["ost-2"], ["ost-1"], ["ost-2"]]
    found = drawn_to(cluster(("a", 1), ("b", 1)), cuts(6), targets)
    assert found[0::2] in ([0, 0, 0], [1, 1, 1])
    assert found[1::2] == [1 - int(found[0] or 0)] * 3


def test_a_host_that_holds_a_block_goes_before_who_reads_the_rest_of_a_stranger() -> None:
    held = [["c"], ["c", "b"], ["c", "a"], ["c", "b"], ["c"], []]
    found = drawn_to(cluster(("a", 1), ("b", 1)), cuts(6), held)
    assert found[1:4] == [1, 0, 1]
    assert found[4] == found[0]


def test_addresses_are_no_names_with_domains() -> None:
    workers = cluster(("10.0.0.1", 1), ("10.0.0.2", 1))
    assert drawn_to(workers, cuts(2), [["10.0.0.2"], ["10.0.0.1"]]) == [1, 0]


def test_what_nobody_holds_is_balanced() -> None:
    found = drawn_to(cluster(("a", 1), ("b", 1)), cuts(4), [[], [], ["a"], []])
    assert (found.count(0), found.count(1)) == (2, 2)


def workers(*given: tuple[str, int, int]) -> list[WorkerFigures]:
    """Return workers of a host, with so many executors and so much room."""
    return [
        WorkerFigures(
            worker=f"worker-{number}",
            host=host,
            slots=slots,
            nbytes=100,
            status=WorkerStatus(memory_quota=100 + room),
        )
        for number, (host, slots, room) in enumerate(given)
    ]


def names(*held: int | None) -> list[list[str]]:
    return [[] if number is None else [f"worker-{number}"] for number in held]


def test_workers_of_a_host_take_turns() -> None:
    held = names(0, 0, 0, 1, 1, 1)
    found = by_turns(workers(("a", 1, 99), ("a", 1, 99)), held, [10] * 6, range(6))
    assert found == [0, 1, 0, 1, 0, 1]
    found = by_turns(workers(("a", 1, 99), ("b", 1, 99)), held, [10] * 6, range(6))
    assert found == [0, 0, 0, 1, 1, 1]


def test_who_has_more_executors_has_more_turns() -> None:
    found = by_turns(workers(("a", 1, 99), ("a", 3, 99)), names(*[0] * 8), [1] * 8, range(8))
    assert found == [0, 1, 1, 1] * 2
    # The program's own worker has none.
    found = by_turns(workers(("a", 0, 99), ("a", 1, 99)), names(0, 1, 0), [1] * 3, range(3))
    assert found == [1, 1, 1]


def test_parts_of_one_block_come_once() -> None:
    of, held = [0, 0, 0, 0, 1, 1], names(0, 1)
    assert by_turns(workers(("a", 1, 10), ("a", 1, 10)), held, [10, 10], of) == [0, 1, 0, 1, 0, 1]
    # Without room for it, each keeps to what it has.
    assert by_turns(workers(("a", 1, 10), ("a", 1, 9)), held, [10, 10], of) == [0] * 4 + [1] * 2


def test_blocks_of_nobody_are_left_to_the_manager() -> None:
    held = [*names(None, 0, 1), ["worker-7"], ["worker-7", "worker-1"]]
    found = by_turns(workers(("a", 1, 99), ("a", 1, 99)), held, [1] * 5, range(5))
    assert found == [None, 0, 1, None, 0]
    assert by_turns([], held, [1] * 5, range(5)) == [None] * 5
