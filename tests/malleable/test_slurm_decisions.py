"""From what Slurm prints to a decision; without Slurm."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from freestone.errors import ConfigurationError, EngineMissingError
from freestone.malleable.method import Method
from freestone.malleable.planning import leaving, misplaced, new_groups
from freestone.malleable.slurm import Slurm
from freestone.malleable.slurm.deciding import Rules, decide
from freestone.malleable.slurm.queue import (
    Companion,
    Queue,
    SlurmError,
    Waiting,
    call,
    read_queue,
    seconds,
)
from freestone.malleable.spawning import Group
from freestone.malleable.targets import Request, Status

MAIN = frozenset({"main"})
NODES = dict.fromkeys(("n0", "n1", "n2", "n3"), MAIN)
RULES = Rules({"n0": 2}, most=6, per_node=2, user="me", partition="main")
N1 = Companion("7", "RUNNING", "n1", has_steps=True)
N2 = Companion("8", "RUNNING", "n2", has_steps=True)


def decision(
    companions: list[Companion],
    waiting: list[Waiting] | None = None,
    *,
    hosts: str = "n0 n0",
    idle: str = "",
    rules: Rules = RULES,
    partitions: dict[str, frozenset[str]] = NODES,
    refused: frozenset[str] = frozenset(),
) -> tuple[str, int, dict[str, int], tuple[str, ...]]:
    """Return what is decided, but for the reason."""
    names = tuple(hosts.split())
    status = Status(5, 100, len(names), hosts=names)
    queue = Queue(companions, waiting or [], partitions, {}, frozenset(idle.split()))
    made = decide(queue, status, rules, refused)
    return made.action, made.size, made.slots, made.release


def job(reason: str = "Resources", user: str = "you", **more: Any) -> Waiting:
    return Waiting("9", user, reason, MAIN, **more)


def test_idle_nodes_are_taken_unless_others_could_use_them() -> None:
    slots = {"n0": 2}
    assert decision([], idle="n3") == ("grow", 4, slots, ())
    assert decision([], [job()], idle="n3") == ("stay", 2, slots, ())
    assert decision([], [job(nodes=2)], idle="n3") == ("grow", 4, slots, ())
    assert decision([], [job("Dependency")], idle="n3") == ("grow", 4, slots, ())
    assert decision([], [job(names=frozenset({"n2"}))], idle="n3") == ("grow", 4, slots, ())
    assert decision([], idle="n3", refused=frozenset({"n3"})) == ("stay", 2, slots, ())
    assert decision([], idle="n3", partitions={**NODES, "n3": frozenset({"gpu"})})[0] == "stay"
    assert decision([], idle="n3", rules=Rules({"n0": 2}, 3, 2))[0] == "stay"


def test_the_newest_node_that_a_waiting_job_could_use_is_left() -> None:
    hosts = "n0 n0 n1 n1 n2 n2"
    assert decision([N1, N2], [job()], hosts=hosts) == ("shrink", 4, {"n0": 2, "n1": 2}, ())
    only = job(names=frozenset({"n1"}))
    assert decision([N1, N2], [only], hosts=hosts) == ("shrink", 4, {"n0": 2, "n2": 2}, ())
    assert decision([N1, N2], [job(nodes=3)], hosts=hosts)[0] == "stay"
    assert decision([N1, N2], [job(nodes=3)], idle="n3", hosts=hosts)[0] == "shrink"
    # Slurm needs a moment to start a job on nodes that are idle by now.
    assert decision([N1, N2], [job()], idle="n3", hosts=hosts)[0] == "stay"
    assert decision([N1, N2], [job(features=frozenset({"gpu"}))], hosts=hosts)[0] == "stay"


@pytest.mark.parametrize(
    ("courtesy", "user", "action"),
    [
        ("all", "me", "shrink"),
        ("others", "me", "stay"),
        ("others", "you", "shrink"),
        ("none", "you", "stay"),
    ],
)
def test_courtesy_says_whose_jobs_count(courtesy: Any, user: str, action: str) -> None:
    rules = Rules({"n0": 2}, 4, 2, courtesy, "me", partition="main")
    assert decision([N1], [job(user=user)], hosts="n0 n0 n1 n1", rules=rules)[0] == action


def test_a_node_is_given_back_when_its_processes_have_ended_and_before_more_are_left() -> None:
    hosts = "n0 n0 n1 n1"
    assert decision([N1, N2], [job()], hosts=hosts) == ("stay", 4, {"n0": 2, "n1": 2}, ())
    ended = Companion("8", "RUNNING", "n2")
    assert decision([N1, ended], [job()], hosts=hosts)[3] == ("8",)
    completing = Companion("8", "COMPLETING", "n2")
    assert decision([N1, completing], [job()], hosts=hosts) == ("stay", 4, {"n0": 2, "n1": 2}, ())
    # A node that has crashed keeps its job in that state.
    refused = frozenset({"n2"})
    assert decision([N1, completing], idle="n3", hosts=hosts, refused=refused)[0] == "grow"


def test_nodes_that_nothing_holds_any_more_are_left() -> None:
    hosts = "n0 n0 n1 n1 n2 n2"
    cancelled = Companion("7", "COMPLETING", "n1", has_steps=True)
    assert decision([cancelled, N2], hosts=hosts) == ("shrink", 4, {"n0": 2, "n2": 2}, ())
    assert decision([N2], hosts=hosts) == ("shrink", 4, {"n0": 2, "n2": 2}, ())
    ending = Companion("7", "RUNNING", "n1", left_s=59.0, has_steps=True)
    assert decision([ending, N2], hosts=hosts) == ("shrink", 4, {"n0": 2, "n2": 2}, ())
    # Whoever has nowhere else to go stays.
    assert decision([], hosts="n1 n1")[0] == "stay"


def test_ranks_leave_hosts_that_are_not_granted_before_others() -> None:
    hosts = ["n0", "n1", "n1", "n2", "n2"]
    assert leaving([0, 1, 1, 2, 2], 2, hosts) == [3, 4]
    assert leaving([0, 1, 1, 2, 2], 2, hosts, {"n0": 1, "n2": 2}) == [1, 2]
    # Of a group only those leave that have no place any more, however old it is.
    assert leaving([0, 0, 1], 1, ["n0", "n1", "n0"], {"n0": 2}) == [1]
    assert leaving([0, 0, 0], 1, ["n0", "n0", "n1"], {"n0": 1, "n1": 1}) == [1]
    groups = new_groups(2, ["n0", "n0"], {"n0": 2, "n1": 2}, is_granted=True)
    assert groups == [Group(2, "n1", is_granted=True)]
    assert Request(4, slots={"n1": 2}).slots == {"n1": 2}


@pytest.mark.parametrize(
    ("size", "granted", "problem"),
    [
        (2, {"n3": 2}, "ranks are on {'n0': 2, 'n1': 1}: 3 of them have no place there, and 1"),
        (2, {"n0": 1, "n3": 1}, "2 of them have no place there, and 1 would leave"),
        (2, {"n0": 2}, ""),
        (2, {"n0": 1, "n1": 1}, ""),
        (2, None, ""),
        (4, {"n0": 2, "n3": 2}, "1 of them have no place there, and 0 would leave"),
        (4, {"n0": 2, "n1": 1, "n3": 1}, ""),
    ],
)
def test_ranks_that_stay_need_places(
    size: int, granted: dict[str, int] | None, problem: str
) -> None:
    request, groups, hosts = Request(size, slots=granted), [0, 0, 1], ["n0", "n0", "n1"]
    found = misplaced(request, Method.parse("merge-p2p-sync"), groups, hosts)
    assert problem in found
    assert bool(found) == bool(problem)
    # Where those are is not known.
    assert not misplaced(request, Method.parse("merge-p2p-sync"), groups, ["", "", ""])
    assert not misplaced(request, Method.parse("baseline-p2p-sync"), groups, hosts)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1-02:03:04", 93784.0),
        ("2:03:04", 7384.0),
        ("3:04", 184.0),
        ("UNLIMITED", math.inf),
        ("", math.inf),
    ],
)
def test_durations_are_read_as_slurm_writes_them(text: str, wanted: float) -> None:
    assert seconds(text) == wanted


PRINTED = {
    "sinfo": "n0|main|alloc|(null)\nn1|main|idle|gpu,big\nn1|night|idle|gpu,big\n",
    "squeue -h --name=grow-of-5": "12|PENDING||1:00\n11|RUNNING|n2|UNLIMITED\n",
    "squeue -h -s": "11.1\n12.extern\n",
    "squeue -h -t PD": "20|ann|Resources|main,night|2-4|(null)|gpu&big\n"
    "21|bob|Priority|main|1|n3|\n",
}


def test_what_slurm_prints_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str], **_: Any) -> Any:
        line = " ".join(words)
        found = next(text for start, text in PRINTED.items() if line.startswith(start))
        return subprocess.CompletedProcess(words, 0, found, "")

    monkeypatch.setattr(subprocess, "run", run)
    queue = read_queue("grow-of-5")
    assert queue.companions == [
        Companion("11", "RUNNING", "n2", math.inf, has_steps=True),
        Companion("12", "PENDING", "", 60.0),
    ]
    assert queue.partitions == {"n0": MAIN, "n1": frozenset({"main", "night"})}
    assert queue.features["n1"] == {"gpu", "big"}
    assert queue.idle == {"n1"}
    both = frozenset({"main", "night"})
    features = frozenset({"gpu", "big"})
    assert queue.waiting == [
        Waiting("20", "ann", "Resources", both, 2, frozenset(), features),
        Waiting("21", "bob", "Priority", MAIN, 1, frozenset({"n3"})),
    ]


def test_a_command_that_fails_is_an_error_and_no_empty_queue() -> None:
    with pytest.raises(SlurmError, match=r"status 3"):
        call(sys.executable, "-c", "raise SystemExit(3)")
    with pytest.raises(SlurmError, match="no-such-command"):
        call("no-such-command")


@pytest.fixture
def in_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("salloc", "scancel", "scontrol", "sinfo", "squeue", "srun"):
        made = tmp_path / program
        made.write_text("#!/bin/sh\necho no answer >&2\nexit 1\n")
        made.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "5")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n0,n1")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "2(x2)")
    monkeypatch.setenv("SLURMD_NODENAME", "n1")


@pytest.mark.usefixtures("in_a_job")
def test_a_slurm_that_does_not_answer_changes_nothing_and_is_logged_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = Slurm(6, 2, every_s=1e-9, log=log)
    assert source.host() == "n1"
    status = Status(5, 100, 4, hosts=("n0", "n0", "n1", "n1"))
    assert source.ask(status) is None
    assert source.ask(status) is None
    lines = log.read_text().splitlines()
    assert len(lines) == 1
    assert '"why": "Slurm does not answer: sinfo: no answer (status 1)"' in lines[0]


@pytest.mark.usefixtures("in_a_job")
@pytest.mark.parametrize(
    ("of_step", "processors", "shown", "own"),
    [
        ("1", "2,1", "NumTasks=3 CPUs/Task=1", {"n0": 2, "n1": 1}),
        ("1(x2)", "2(x2)", "NumTasks=4 CPUs/Task=1", {"n0": 2, "n1": 2}),
        # Nodes that the job has for itself have more processors than it has tasks.
        ("1", "64(x2)", "NumTasks=5 CPUs/Task=1", {"n0": 3, "n1": 2}),
        ("1", "8,4", "NumTasks=3 CPUs/Task=4", {"n0": 2, "n1": 1}),
        ("1", "", "NumTasks=3 CPUs/Task=N/A", {"n0": 2, "n1": 1}),
    ],
)
def test_the_job_has_all_its_nodes_in_a_step_that_has_fewer(
    of_step: str,
    processors: str,
    shown: str,
    own: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\necho 'JobId=5 {shown} ReqB:S:C:T=0:0:*:*'\n")
    for name in ("SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"):
        monkeypatch.setenv(name, of_step)
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", processors)
    assert Slurm(6, 2)._rules.own == own


@pytest.mark.usefixtures("in_a_job")
@pytest.mark.parametrize("wrong", [{"most": 0}, {"every_s": 0}, {"courtesy": "some"}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Slurm(**{"most": 4, "per_node": 2, **wrong})


def test_outside_of_a_job_there_is_no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(EngineMissingError, match="Slurm"):
        Slurm(4, 2)
