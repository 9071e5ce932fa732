"""What is planned over several hosts, as all sources plan it; none of them is needed."""

from __future__ import annotations

import numpy as np
import pytest

from freestone.malleable import Config, Method, Request, plans
from freestone.malleable.arrays import Array, Description
from freestone.malleable.parts import form_of
from freestone.malleable.planning import Blueprint, draw
from freestone.malleable.spawning import Group
from freestone.malleable.storage import Storage
from tests.malleable.fakes import FakeComm

ROWS = 240
MERGE, BASELINE = Method(), Method("baseline")


def drawn(
    hosts: list[str], size: int, config: Config, method: Method = MERGE, groups: str = ""
) -> Blueprint:
    """Draw the plan of a job with a rank on each of the hosts."""
    form = form_of(np.zeros((0, 3)), ROWS, 0)
    array = Array(Description("a", "constant", form, False), [Storage(form.nbytes)])
    layouts = {ROWS: plans.even(ROWS, len(hosts))}
    comm = FakeComm(0, len(hosts), {})
    spawned = [int(group) for group in groups or "0" * len(hosts)]
    return draw(comm, [array], layouts, spawned, hosts, Request(size), method, config)


def crossing(blueprint: Blueprint, hosts: list[str]) -> tuple[int, int]:
    """Return the rows that cross between hosts, in all and on the busiest network card."""
    coming = [group.host for group in blueprint.joining_ranks for _ in range(group.count)]
    return blueprint.plans[ROWS].crossing([*hosts, *coming])


def test_no_row_moves_that_could_stay_where_it_is() -> None:
    config = Config(minimal=True, rows=ROWS)
    grown = drawn(["a"] * 7, 8, config)
    assert (grown.process_of, grown.plans[ROWS].moved()) == (tuple(range(8)), ROWS // 8)
    # Of three rows each of rank 1 gives its last to rank 0 and one to rank 2; it may not stay.
    shrunk = drawn(["a"] * 4, 3, config, groups="0100")
    assert (shrunk.process_of, shrunk.plans[ROWS].moved()) == ((0, 2, 3), ROWS // 4)
    assert shrunk.plans[ROWS].after.runs(0) == [(0, 80)]
    assert drawn(["a"] * 4, 3, config, BASELINE).plans[ROWS].moved() == ROWS


@pytest.mark.parametrize("method", [MERGE, BASELINE])
def test_rows_stay_on_their_host_where_they_can(method: Method) -> None:
    # Joining ranks come in the order of the slots, ranks are in another one.
    slots = {"a": 2, "b": 2}
    blueprint = drawn(["b", "a"], 4, Config(slots=slots), method)
    assert crossing(blueprint, ["b", "a"]) == (0, 0)
    blueprint = drawn(["b", "a"], 4, Config(slots=slots, by_host=False), method)
    assert crossing(blueprint, ["b", "a"])[0] >= ROWS / 2


def test_what_crosses_is_spread_over_the_cards() -> None:
    # Each of two hosts gives a third of its rows to a third host.
    slots = {"a": 2, "b": 2, "c": 2}
    blueprint = drawn(["a", "b"], 6, Config(slots=slots))
    assert blueprint.joining_ranks == [Group(1, "a"), Group(1, "b"), Group(2, "c")]
    assert crossing(blueprint, ["a", "b"]) == (ROWS / 3, ROWS / 3)
    blueprint = drawn(["a", "b"], 6, Config(slots=slots, by_host=False))
    assert crossing(blueprint, ["a", "b"])[0] > ROWS / 3


def test_what_stays_in_a_process_is_not_given_up_for_it() -> None:
    for hosts, size in ((["a", "a", "b", "b"], 8), (["b", "a", "b", "a"], 3)):
        slots = {"a": 3, "b": 5}
        both = [
            drawn(hosts, size, Config(slots=slots, by_host=by_host)).plans[ROWS].moved()
            for by_host in (True, False)
        ]
        assert both[0] == both[1]


def test_whoever_shrinks_goes_by_hosts_too() -> None:
    # The newest groups leave, and with them a host, whose rows have to cross; no others do.
    hosts = ["a", "c", "a", "b", "c", "b"]
    blueprint = drawn(hosts, 2, Config(slots=dict.fromkeys("abc", 2)), groups="021120")
    assert crossing(blueprint, hosts) == (ROWS / 3, ROWS / 3)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_where_mpi_places_joining_ranks_hosts_change_nothing(size: int) -> None:
    found = [drawn(["h"] * 3, size, Config(by_host=by)).process_of for by in (True, False)]
    assert found[0] == found[1]


def test_rank_r_stays_rank_r_if_it_shall() -> None:
    blueprint = drawn(["b", "a"], 4, Config(slots={"a": 2, "b": 2}, relabel=False))
    assert blueprint.process_of == (0, 1, 2, 3)


def test_a_job_that_registers_nothing_is_resized() -> None:
    config = Config(slots={"a": 2, "b": 2})
    blueprint = draw(FakeComm(0, 2, {}), [], {}, [0, 0], ["a", "b"], Request(4), MERGE, config)
    assert sorted(blueprint.process_of) == [0, 1, 2, 3]
