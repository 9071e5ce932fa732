"""The benchmark of what a task costs reads what perf prints."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks import task

PRINTED = """\
freestone-manag
\t    1a ring::x25519

freestone-manag
\t    1a alloc::malloc
\t    1b freestone_core::manager::graph::submission::<impl Manager>::on_submission

freestone-manag
\tff1a _raw_spin_unlock
\tff1b tcp_sendmsg
\tff1c do_writev
\tff1d do_syscall_64
\t  1c __GI___writev

freestone-manag
\t  1d freestone_core::manager::schedule::dispatch::<impl freestone_core::manager::Manager>::assign
"""


def test_samples_count_from_the_first_submission_on() -> None:
    counts = Counter(map(task.step_of, task.samples(PRINTED)))
    assert [(group, step) for group, step, _ in counts] == [
        ("memory", "allocate"),
        ("kernel", "write"),
        ("state machine", "schedule"),
    ]


def test_shares_of_samples_are_shares_of_the_processor_time() -> None:
    counts = Counter(map(task.step_of, task.samples(PRINTED)))
    groups = task.flame(counts, 30.0)
    assert {group.name for group in groups} == {"memory 10.0", "kernel 10.0", "state machine 10.0"}
    for group in groups:
        assert group.value == pytest.approx(10)
        assert sum(step.value for step in group.parts) == pytest.approx(10)
        assert sum(inner.value for step in group.parts for inner in step.parts) <= 10.001


def test_functions_are_named_without_their_paths() -> None:
    name = "freestone_core::manager::schedule::dispatch::<impl freestone_core::manager::Manager>"
    assert task.short(f"{name}::assign") == "dispatch::assign"
    assert task.short("tcp_sendmsg") == "tcp_sendmsg"
    assert task.short("<T>") == "<T>"
