"""How long to wait before a worker that has ended is started again."""

from __future__ import annotations

from freestone.hosts.pauses import MAX_S, SHORTEST_S, Pauses


def test_pauses_grow_while_a_worker_can_not_run() -> None:
    pauses = Pauses()
    found = [pauses.after(0.0) for _ in range(20)]
    assert found[:4] == [SHORTEST_S, 2 * SHORTEST_S, 4 * SHORTEST_S, 8 * SHORTEST_S]
    assert found[-1] == MAX_S


def test_who_is_killed_now_and_then_is_back_at_once() -> None:
    pauses = Pauses()
    assert [pauses.after(1.0) for _ in range(100)] == [SHORTEST_S] * 100
    for _ in range(20):
        pauses.after(0.0)
    assert pauses.after(10 * MAX_S) == SHORTEST_S
