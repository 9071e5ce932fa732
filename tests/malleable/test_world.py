"""Jobs of real processes that grow and shrink; few runs, each with many resizes."""

from __future__ import annotations

import ast
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from freestone.malleable import METHODS
from tests.malleable.jobs import end_launcher, run
from tests.mpi import ROOT

pytest.importorskip("mpi4py")

SLOTS = max(64 * len(os.sched_getaffinity(0)), 2 * 16)


def walk(methods: list[str], seed: int, most: int) -> list[tuple[int, str]]:
    """Return a walk that grows and shrinks by each method, through sizes up to `most`."""
    choose = random.Random(seed)
    found, size = [], 2
    for method in methods:
        grown = choose.randint(size + 1, most)
        size = choose.randint(1, min(3, grown - 1))
        found += [(grown, method), (size, method)]
    return found


@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("processes", ["merge", "baseline"])
def test_data_is_the_same_bit_for_bit_after_any_sequence(processes: str, third: int) -> None:
    methods = [str(method) for method in METHODS if method.processes == processes][third::3]
    resizes = walk(methods, seed=7, most=6)
    words = {"resizes": resizes, "rows": 131, "seed": 3, "share": False, "entries": True}
    outcome = run("program.py", json.dumps(words))
    assert outcome.status == 0, outcome.err
    records = outcome.data["resizes"]
    assert [(r["after"], r["method"], r["error"]) for r in records] == [
        (size, method, "") for size, method in resizes
    ]
    # Steps are made while processes start for the first resize, unless its method holds them up.
    assert outcome.data["sizes"][-len(resizes) :] == [size for size, _ in resizes]
    whole = max(record["moved_nbytes"] for record in records)
    if processes == "baseline":
        assert {record["moved_nbytes"] for record in records} == {whole}
    else:
        assert all(record["moved_nbytes"] > 0 for record in records)


def test_data_in_runs_is_the_same_bit_for_bit_and_no_row_moves_that_could_stay() -> None:
    methods = ["merge-p2p-sync", "merge-collective-nonblocking", "merge-onesided-sync"]
    methods += ["merge-collective-thread", "merge-onesided-thread", "baseline-collective-sync"]
    methods += ["merge-p2p-thread"]
    resizes = walk(methods, seed=5, most=6)
    words = {"resizes": resizes, "rows": 131, "seed": 3, "share": False, "entries": True}
    outcome = run("program.py", json.dumps({**words, "minimal": True}))
    assert outcome.status == 0, outcome.err
    records = outcome.data["resizes"]
    assert [(r["after"], r["error"]) for r in records] == [(size, "") for size, _ in resizes]
    # One block to a rank would be one.
    assert outcome.data["runs"] > 2


def test_what_all_can_map_does_not_move_and_a_timeline_has_all_resizes(tmp_path: Path) -> None:
    resizes = [(3, "merge-p2p-sync"), (2, "baseline-collective-thread"), (4, "merge-onesided-sync")]
    path = tmp_path / "resizes.json"
    words = {"resizes": resizes, "rows": 57, "seed": 5, "balance": "nonzeros", "trace": str(path)}
    outcome = run("program.py", json.dumps(words))
    assert outcome.status == 0, outcome.err
    # Only the variable moves: 8 bytes a row.
    moved = [record["moved_nbytes"] for record in outcome.data["resizes"]]
    assert all(0 < nbytes <= 57 * 8 for nbytes in moved)
    assert moved[1] == 57 * 8
    # The first rank of each number of processes has written all so far.
    events = json.loads(path.read_text())["traceEvents"]
    slices = [one for one in events if one["ph"] == "X"]
    titles = [one["name"] for one in slices if one["args"]]
    assert titles == ["2 to 3 processes", "3 to 2 processes", "2 to 4 processes"]
    assert {one["name"] for one in slices} - set(titles) == {"spawned", "moved", "switched"}
    begun = [one["ts"] for one in slices if one["args"]]
    assert begun == sorted(begun)
    assert begun[0] >= 0
    counts = [one["args"]["processes"] for one in events if one["ph"] == "C"]
    assert counts == [2, 3, 3, 2, 2, 4]


def test_fewer_rows_than_processes() -> None:
    resizes = [(5, "merge-p2p-nonblocking"), (4, "merge-collective-sync"), (1, "merge-p2p-thread")]
    words = {"resizes": resizes, "rows": 3, "seed": 2, "share": False}
    outcome = run("program.py", json.dumps(words))
    assert outcome.status == 0, outcome.err
    assert outcome.data["reported"][-1:] == [""]


@pytest.mark.parametrize(
    ("which", "problem"),
    [
        ("refused", "no licence"),
        ("absent", "ended without a malleable.World"),
        ("gone", "/no/such/python can't be run"),
        ("nowhere", "nowhere.invalid"),
        ("hanging", "ResizeTimeoutError: spawning was not done after 60 s"),
        # Where nobody but its guard can kill it, for which the launcher waits.
        ("hanging-elsewhere", "ResizeTimeoutError: spawning was not done after 10 s"),
        ("otherwise", "a joining rank has relabel = False, where the others have True; give"),
    ],
)
def test_joining_ranks_that_can_not_join_leave_the_job_as_it_was(
    which: str, problem: str, tmp_path: Path
) -> None:
    outcome = run("faults.py", which, str(tmp_path))
    assert outcome.status == 0, outcome.err
    # The shrink at step 8 comes all the same.
    assert outcome.out.startswith("1 [")
    assert problem in outcome.out


def test_a_matrix_with_other_non_zeros_is_not_moved_and_not_lost(tmp_path: Path) -> None:
    outcome = run("faults.py", "pattern", str(tmp_path))
    assert outcome.status == 0, outcome.err
    why = "RegistrationError: rank 1: 'A' has other non-zeros than it was registered with"
    assert outcome.out.startswith("2 [")
    assert outcome.out.count(why) == 2


@pytest.mark.parametrize(
    "which", ["starting", "moving-sync", "moving-nonblocking", "moving-thread"]
)
def test_joining_ranks_that_are_lost_before_the_switch_leave_the_job_as_it_was(
    which: str, tmp_path: Path
) -> None:
    outcome = run("faults.py", f"lost-{which}", str(tmp_path))
    assert outcome.status == 0, outcome.err
    # The shrink at step 8 comes all the same.
    assert outcome.out.startswith("1 ['SpawnFailedError: new processes were lost before"), (
        outcome.out
    )


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("unseen-starting", "1 ['ResizeTimeoutError: spawning was not done after 60 s"),
        ("unseen-moving-nonblocking", "1 ['ResizeTimeoutError: rows were not moved after 60 s"),
        # One that hangs would keep the launcher from ending.
        ("hung-moving-nonblocking", "1 ['ResizeTimeoutError: rows were not moved after 60 s"),
    ],
)
def test_joining_ranks_whose_loss_is_not_seen_are_given_up_in_time(
    which: str, says: str, tmp_path: Path
) -> None:
    outcome = run("faults.py", f"lost-{which}", str(tmp_path))
    assert (outcome.status, outcome.out[: len(says)]) == (0, says), outcome.err


def test_one_that_is_lost_after_the_switch_ends_the_job(tmp_path: Path) -> None:
    outcome = run("faults.py", "lost-after-switch", str(tmp_path))
    assert outcome.status != 0


def test_what_moves_collectively_can_not_go_on_without_one(tmp_path: Path) -> None:
    outcome = run("faults.py", "lost-merge-collective-sync", str(tmp_path))
    assert outcome.err.count("a method with p2p goes on without them") == 2, outcome.err


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("file", "4 ['']"),
        ("signal", "1 ['', '']"),
        ("slots", "2 ['4 processes were asked for, and there are 2 slots']"),
        ("crowd", f"2 ['100000 processes were asked for, and there are {SLOTS} slots without"),
        (
            "unknown",
            "2 [\"SpawnFailedError: host 'nowhere.invalid' of the answer is not known here",
        ),
        (
            "late",
            "2 ['the resize was not over when the loops were; ask for it some steps earlier']",
        ),
        (
            "worlds",
            "1 ['NoSpawnError: this is World 2 of the program, and joining ranks come to the",
        ),
        ("efficiency", "4 ['']"),
        ("deadline", "1 ['']"),
        ("hours", "1 ['', '']"),
    ],
)
def test_who_asks_for_a_target(which: str, says: str, tmp_path: Path) -> None:
    outcome = run("faults.py", which, str(tmp_path))
    assert outcome.status == 0, outcome.err
    assert outcome.out.startswith(says), outcome.out
    assert outcome.out.strip() == says or not says.endswith("]")
    assert ("nowhere.invalid" in outcome.err) == (which == "unknown")


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("skip", "checkpoint-skipped: rank 0 is at step"),
        ("shape", "registration: 'x' is variable, dense, 10 rows of () (<f8) on rank 0 and"),
        ("short", "registration: rank 1: 'x' has shape (4,) where rows 5 to 10 were asked for"),
        ("objects", "registration: rank 0: 'x' holds Python objects"),
        ("twice", "registration: rank 0: 'x' is registered already, as <variable 'x': rows 0 to 5"),
        ("again", "registration: rank 1: 'x' is registered already, as <variable 'x': rows 5 to"),
        (
            "other",
            "registration: rank 0 registers variable 'y0' of 10 rows at step 0, and rank 1",
        ),
        (
            "first",
            "timeout: rank 0 registers variable 'y' of 10 rows at step 0, and rank 1 did not",
        ),
        (
            "second",
            "timeout: rank 1 registers variable 'y' of 10 rows at step 0, and rank 0 did not",
        ),
        ("once", "timeout: rank 1 calls a function once at step 0, and rank 0 did not come to"),
        (
            "settings",
            "configuration: rank 1 has check_every = 2, where rank 0 has 1; give all ranks the",
        ),
        (
            "targets",
            "configuration: rank 1 has targets = 8: 4, where rank 0 has 8: 3; give all ranks the",
        ),
        ("sources", "target'); Signals(SIGUSR1, SIGUSR2), where rank 0 has File('"),
        ("room", "configuration: the job begins with 2 ranks, and there is room for 1 (see slots"),
        (
            "rows",
            "registration: rank 0 registers variable 'y' of 20 rows at step 0, and rank 1 "
            "registers variable 'y' of 21 rows at step 0; register, replace and save",
        ),
        (
            "patience",
            "configuration: rank 1 has timeout_s = 61, where rank 0 has 60; give all ranks the",
        ),
        ("saver", "state' at step 6, and rank 1 did not come to do so in 1 s; make the call on"),
        ("registering", "registration: 'late' is registered inside of a loop"),
        ("calling", "registration: at_step.<locals>.<lambda> is called once inside of a loop"),
        ("nested", "checkpoint-skipped: loops over world.steps are nested"),
        ("unsendable", "joining: what main.<locals>.<lambda> returned on rank 0, a code, can't be"),
        (
            "exit",
            "checkpoint-skipped: rank 0 is at step 6, rank 1 has left the loop in step 5: a",
        ),
        (
            "loops",
            "checkpoint-skipped: rank 0 is at step 4 in loop 1, rank 1 is at step 4 in loop 0: a "
            "rank is in another loop over world.steps; let every rank run through the same loops",
        ),
        ("bare", "malleable: world.steps needs its context"),
        ("function", "registration: rank 0: world.variable('y', ...) is given 5; give it a func"),
        ("nameless", "registration: rank 0: data is registered as ''; give it a name"),
        ("result", "registration: rank 0: world.once is given 5; give it a function"),
        ("part", "registration: world.steps(2.5): give a whole number of steps, of at least 0"),
        ("threads", "no-threads: merge-p2p-nonblocking needs MPI_THREAD_MULTIPLE"),
    ],
)
def test_all_ranks_report_what_is_wrong(which: str, says: str, tmp_path: Path) -> None:
    outcome = run("faults.py", which, str(tmp_path))
    assert outcome.err.count(says) == 2, outcome.err
    assert outcome.status == 0


def test_an_error_of_one_rank_is_one_of_all(tmp_path: Path) -> None:
    outcome = run("faults.py", "alone", str(tmp_path))
    assert outcome.status == 0
    assert outcome.err.count("registration: 'late' is registered inside of a loop") == 1
    assert outcome.err.count("checkpoint-skipped: rank 0 ") == 1


def test_a_rank_that_leaves_the_loop_and_waits_elsewhere_is_named(tmp_path: Path) -> None:
    outcome = run("faults.py", "broken-off", str(tmp_path))
    assert outcome.status != 0
    assert outcome.err.count("rank 0 has left the loop in step 6, and rank 1 is at step 7") == 1


@pytest.mark.parametrize("which", ["stale", "stale-rows"])
def test_keeping_what_a_resize_replaces_is_reported(which: str, tmp_path: Path) -> None:
    outcome = run("faults.py", which, str(tmp_path))
    assert outcome.status != 0
    assert "take them anew in each step" in outcome.err


def test_a_view_of_before_that_is_kept_is_warned_of(tmp_path: Path) -> None:
    outcome = run("faults.py", "derived", str(tmp_path))
    assert (outcome.status, outcome.out.strip()) == (0, "1 ['', '']"), outcome.err
    assert outcome.err.count("a view of 'x' from before the resize is still held") == 3


TOUCH = "JoiningError: 'x' is used by a joining rank, or after a restart, before it has come"
ANEW = "called off, and begun anew at the next step: 'y' was registered meanwhile"
DIFFER = "JoiningError: a joining rank calls between.<locals>.<lambda> once before loop 1"


@pytest.mark.parametrize(
    ("method", "stage", "between", "size", "errors"),
    [
        ("baseline-p2p-sync", "after", "once", 4, [""]),
        ("merge-p2p-nonblocking", "spawning", "once", 4, [""]),
        ("merge-p2p-thread", "moving", "guard", 4, [""]),
        ("merge-p2p-nonblocking", "spawning", "touch", 2, [TOUCH]),
        ("merge-collective-nonblocking", "moving", "touch", 2, [TOUCH]),
        ("merge-p2p-nonblocking", "moving", "differ", 2, [DIFFER]),
        ("merge-p2p-nonblocking", "spawning", "register", 4, [ANEW, ""]),
        ("merge-onesided-nonblocking", "moving", "register", 4, [ANEW, ""]),
    ],
)
def test_joining_ranks_find_their_way_through_work_between_loops(
    method: str, stage: str, between: str, size: int, errors: list[str]
) -> None:
    outcome = run("phases.py", method, stage, between)
    assert outcome.status == 0, outcome.err
    assert outcome.out.startswith(f"{size} True ["), outcome.out
    found = ast.literal_eval(outcome.out.removeprefix(f"{size} True "))
    assert len(found) == len(errors)
    assert all(
        error in text if error else not text for text, error in zip(found, errors, strict=True)
    )


def test_the_guides_set_up_and_work_between_loops(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "howto" / "resize.md").read_text()
    section = guide.split("## Set-up, and work between loops")[1]
    program = tmp_path / "program.py"
    imports = "import numpy as np\nfrom freestone import malleable\n"
    program.write_text(imports + section.split("```python\n")[1].split("```")[0])
    outcome = run(str(program))
    assert outcome.status == 0, outcome.err
    norm, total, size = outcome.out.split()
    b = np.arange(1000.0)
    assert float(norm) == float(b @ b) ** 0.5
    assert float(total) == pytest.approx(20 * b.sum() / float(norm), rel=1e-12)
    assert size == "4"


def test_a_rank_that_raises_ends_the_job(tmp_path: Path) -> None:
    outcome = run("faults.py", "raise", str(tmp_path))
    assert outcome.status != 0
    assert "KeyError: 'only here'" in outcome.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_launcher(number: signal.Signals, tmp_path: Path) -> None:
    grown = tmp_path / "grown"
    assert end_launcher("faults.py", "endless", str(tmp_path), begun=grown, number=number) == []
    assert grown.exists()


def test_a_spawn_that_is_never_answered_ends_the_job() -> None:
    program = """
import threading
from freestone.malleable import spawning

with spawning.watched(0.2):
    threading.Event().wait(100)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert "MPI_Comm_spawn was not answered in 0.2 s" in ended.stderr


def test_without_a_launcher_nothing_can_be_spawned(tmp_path: Path) -> None:
    outcome = run("faults.py", "single", str(tmp_path), ranks=0)
    assert outcome.status == 0, outcome.err
    assert "NoSpawnError: the program was not started by a launcher" in outcome.out


def test_rank_0_holds_no_more_after_many_resizes_than_after_few() -> None:
    outcome = run(str(ROOT / "benchmarks" / "resizing" / "growth.py"), "24")
    assert outcome.status == 0, outcome.err
    held = [(descriptors, threads) for descriptors, threads, _ in outcome.data]
    assert len(held) == 24
    # Each number of processes has its own: MPI connects to each of them.
    assert held[-2:] == held[8:10]
