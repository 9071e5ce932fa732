"""Rows that come and go, weigh more or less, or lie as a program says: whole jobs of processes."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone.malleable import plans
from freestone.malleable.arrays import Run
from freestone.malleable.dealing import _layout_of
from tests.malleable import particles
from tests.malleable.jobs import run

pytest.importorskip("mpi4py")

STEPS = 24


def expected(steps: int = STEPS) -> list[int]:
    """Return the particles that one process has at the end."""
    ids = particles.BEGIN
    for step in range(0, steps, 2):
        ids = particles.after(ids, step)
    return sorted(ids.tolist())


def job(**words: Any) -> Any:
    outcome = run("particles.py", json.dumps({"steps": STEPS, **words}))
    assert outcome.status == 0, outcome.err
    return outcome.data


@pytest.mark.parametrize(
    "methods",
    [
        ["merge-p2p-sync", "merge-collective-sync", "baseline-p2p-sync"],
        ["merge-p2p-nonblocking", "merge-onesided-sync", "baseline-collective-thread"],
    ],
)
def test_particles_are_the_same_through_resizes(methods: list[str]) -> None:
    resizes = list(zip((4, 2, 3), methods, strict=True))
    found = job(resizes=resizes)
    assert found["ids"] == expected()
    records = found["records"]
    assert not any(one["error"] for one in records if one["method"].endswith("sync"))
    assert not records[-1]["error"]
    # A resize whose rows were replaced meanwhile is begun anew, and waited for.
    for one, following in itertools.pairwise(records):
        if one["error"]:
            assert "replaced meanwhile" in one["error"]
            assert (following["after"], following["error"]) == (one["after"], "")
            assert following["method"] == f"{one['method'].rpartition('-')[0]}-sync"


def test_weights_are_even_after_a_resize_and_when_it_is_asked_for() -> None:
    found = job(resizes=[(3, "merge-p2p-sync")], weights="cost", rebalance=STEPS - 5)
    assert found["ids"] == expected()
    first, second = found["records"]
    assert (first["before"], first["after"], second["before"], second["after"]) == (2, 3, 3, 3)
    uneven, even = found["spread"][STEPS - 5], found["spread"][second["step"]]
    # A particle weighs ten at most, so a rank has at most ten more than its part.
    total = float(particles.weights(np.array(found["ids"])).sum())
    assert even <= 1 + 3 * 10 / total
    assert even < uneven


def test_rows_that_are_dealt_anew_beside_steps_are_so_although_others_replace_them() -> None:
    words = {"weights": "cost", "rebalance": 4, "method": "merge-p2p-nonblocking"}
    found = job(resizes=[], pause_s=0.05, **words)
    assert found["ids"] == expected()
    last = found["records"][-1]
    assert (last["before"], last["after"], last["error"]) == (2, 2, "")


def test_rows_lie_as_a_function_says(tmp_path: Path) -> None:
    # All rows but one a rank are rank 0's.
    program = tmp_path / "lying.py"
    program.write_text(
        "import json\n"
        "import numpy as np\n"
        "from freestone import malleable\n"
        "def lie(rows, size):\n"
        "    return [0, *range(rows - size + 1, rows + 1)]\n"
        "with malleable.World(rows=20, balance=lie, targets={3: 4, 6: 1}) as world:\n"
        "    x = world.variable('x', lambda start, stop: np.arange(start, stop))\n"
        "    found = world.replicated('found', [])\n"
        "    for step in world.steps(9):\n"
        "        assert (x.local == np.arange(x.start, x.stop)).all()\n"
        "        counts = world.comm.allgather(len(x.local))\n"
        "        found.value = [*found.value, counts]\n"
        "    is_first = world.rank == 0\n"
        "if is_first:\n"
        "    print(json.dumps(found.value))\n"
    )
    outcome = run(str(program))
    assert outcome.status == 0, outcome.err
    counts = [list(one) for one in dict.fromkeys(map(tuple, outcome.data))]
    assert counts == [[19, 1], [17, 1, 1, 1], [20]]


def test_rows_lie_in_the_runs_that_a_function_says(tmp_path: Path) -> None:
    # Blocks of three rows in turn; the last run is of fewer.
    program = tmp_path / "cyclic.py"
    program.write_text(
        "import json\n"
        "import numpy as np\n"
        "import scipy.sparse\n"
        "from freestone import malleable\n"
        "from freestone.malleable import Method, Request\n"
        "def deal(rows, size):\n"
        "    starts = range(0, rows, 3)\n"
        "    return [(a, min(a + 3, rows), at % size) for at, a in enumerate(starts)][::-1]\n"
        "kinds = {3: 'merge-p2p', 1: 'merge-collective', 4: 'merge-onesided', 2: 'baseline-p2p'}\n"
        "asked = [Request(size, Method.parse(f'{kind}-sync')) for size, kind in kinds.items()]\n"
        "targets = {3 * at: request for at, request in enumerate(asked, 1)}\n"
        "whole = scipy.sparse.random(20, 9, 0.4, 'csr', random_state=1)\n"
        "with malleable.World(rows=20, balance=deal, targets=targets) as world:\n"
        "    x = world.variable('x', lambda start, stop: np.arange(start, stop))\n"
        "    A = world.variable('A', lambda start, stop: whole[start:stop])\n"
        "    found = world.replicated('found', [])\n"
        "    for step in world.steps(15):\n"
        "        for start, stop, rows in x.runs:\n"
        "            assert (rows == np.arange(start, stop) + step).all()\n"
        "            rows += 1\n"
        "        for start, stop, rows in A.runs:\n"
        "            assert (rows != whole[start:stop]).nnz == 0\n"
        "        counts = world.comm.allgather([len(rows) for _, _, rows in x.runs])\n"
        "        found.value = [*found.value, counts]\n"
        "    is_first = world.rank == 0\n"
        "if is_first:\n"
        "    print(json.dumps([found.value, [record.error for record in world.resizes]]))\n"
    )
    outcome = run(str(program))
    assert outcome.status == 0, outcome.err
    counts, errors = outcome.data
    assert errors == [""] * 4
    assert [len(one) for one, _ in itertools.groupby(counts)] == [2, 3, 1, 4, 2]
    assert counts[0] == [[3, 3, 3, 2], [3, 3, 3]]


def test_what_is_registered_later_lies_in_the_runs_that_there_are(tmp_path: Path) -> None:
    program = tmp_path / "later.py"
    program.write_text(
        "import json\n"
        "import numpy as np\n"
        "import scipy.sparse\n"
        "from freestone import malleable\n"
        "whole = scipy.sparse.random(40, 9, 0.4, 'csr', random_state=1)\n"
        "targets = {2: 3, 4: 4, 8: 3}\n"
        "settings = {'minimal': True, 'method': 'merge-p2p-sync', 'targets': targets}\n"
        "with malleable.World(rows=40, **settings) as world:\n"
        "    x = world.variable('x', lambda start, stop: np.arange(start, stop))\n"
        "    for _ in world.steps(6):\n"
        "        pass\n"
        "    loaded = []\n"
        "    A = world.constant('A', lambda *rows: loaded.append(rows) or whole[slice(*rows)])\n"
        "    found = world.once(lambda: world.comm.gather(loaded))\n"
        "    for _ in world.steps(6):\n"
        "        for start, stop, rows in A.runs:\n"
        "            assert (rows != whole[start:stop]).nnz == 0\n"
        "        assert [run[:2] for run in x.runs] == [run[:2] for run in A.runs]\n"
        "    sizes = [record.after for record in world.resizes if not record.error]\n"
        "    is_first = world.rank == 0\n"
        "if is_first:\n"
        "    print(json.dumps([sizes, found]))\n"
    )
    outcome = run(str(program))
    assert outcome.status == 0, outcome.err
    sizes, loaded = outcome.data
    assert sizes == [3, 4, 3]
    assert sorted(stop - start for theirs in loaded for start, stop in theirs) != [10] * 4
    assert [sum(stop - start for start, stop in theirs) for theirs in loaded] == [10] * 4


@pytest.mark.parametrize(
    "methods",
    [
        ["merge-p2p-sync", "baseline-collective-sync", "merge-onesided-sync"],
        ["merge-collective-sync", "merge-p2p-nonblocking", "baseline-onesided-sync"],
    ],
)
def test_data_may_have_no_rows_for_a_while(methods: list[str], tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = run("empty_rows.py", json.dumps(methods), str(state))
    assert first.status == 0, first.err
    size, seen = first.data
    assert (size, seen[0], seen[26]) == (3, [0, 0, 7], [0, 0, 0])
    (tmp_path / "state.kept").rename(state)
    second = run("empty_rows.py", "[]", str(state))
    assert second.status == 0, second.err
    assert (second.data[1][:27], len(second.data[1])) == (seen[:27], 30)


def test_a_saved_state_has_the_rows_that_there_are(tmp_path: Path) -> None:
    program = tmp_path / "saving.py"
    program.write_text(
        "import sys\n"
        "import numpy as np\n"
        "from freestone import malleable\n"
        "with malleable.World(rows=4, load=sys.argv[2] if len(sys.argv) > 2 else None) as world:\n"
        "    x = world.variable('x', lambda start, stop: np.arange(start, stop))\n"
        "    for step in world.steps(4):\n"
        "        world.replace({x: np.append(x.local, 100 * step + world.rank)})\n"
        "        if step == 1 and len(sys.argv) == 2:\n"
        "            world.save(sys.argv[1])\n"
        "    whole = world.comm.gather(x.local)\n"
        "    is_first = world.rank == 0\n"
        "if is_first:\n"
        "    print(np.concatenate(whole).tolist())\n"
    )
    state = str(tmp_path / "state")
    first = run(str(program), state)
    assert first.data == [0, 1, 0, 100, 200, 300, 2, 3, 1, 101, 201, 301]
    second = run(str(program), state, state, ranks=1)
    assert second.status == 0, second.err
    assert second.data == [0, 1, 0, 100, 2, 3, 1, 101, 200, 300]


def test_wrong_rows_are_refused_on_all_ranks_and_change_nothing() -> None:
    outcome = run("wrong_rows.py", "replace")
    assert outcome.status == 0, outcome.err
    found = outcome.data["found"]
    says = {
        "nothing": r"rank 0: world.replace is given no arrays; write world.replace\(",
        "constant": r"rank 0: 'c' is constant: its rows stay; register it by world.variable",
        "type": r"rank 1: 'x' has rows of \(\) \(float32\), dense; it was .* \(float64\), dense",
        "shape": r"rank 0: 'x' has rows of \(1,\) \(float64\), dense; it was .*rows of \(\)",
        "lengths": r"rank 1: arrays .* as many rows as one another; 'x' has 3, 'w' has 4",
        "others": r"rank 0 replaces rows of 'w' at step 0, and rank 1 replaces rows of 'x'",
        "dense": r"rank 0: 'm' has rows of \(10,\) \(float64\), dense; it was .*, csr",
        "masked": r"rank 0: 'x' is a masked array",
        "scalar": r"rank 0: 'x' has no axis of rows",
    }
    assert set(found) == set(says)
    for name, pattern in says.items():
        assert all(re.match(pattern, error) for error in found[name]), found[name]
        assert len(found[name]) == 2
    assert outcome.data["errors"] == [""]


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("offsets", "balance(10, 3) returned [0, 0, 0]; return 4 offsets from 0 to 10"),
        ("raises", "balance(10, 3) raised ZeroDivisionError"),
        ("gap", "balance(10, 3) returned (5, 10, 2), where a run from row 4 comes next; return"),
        ("weights", "'w' on rank 1: row 5 weighs -1.0; weights are finite and at least 0"),
    ],
)
def test_a_resize_that_can_not_be_dealt_is_refused_and_the_job_goes_on(
    which: str, says: str
) -> None:
    outcome = run("wrong_rows.py", which)
    assert outcome.status == 0, outcome.err
    assert outcome.data["errors"][0].startswith(f"RegistrationError: {says}"), outcome.data


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([(0, 10, 2)], "returned (0, 10, 2), where a run from row 0 comes next"),
        ([(0, 10, -1)], "returned (0, 10, -1), where a run from row 0 comes next"),
        ([(0, 6, 0), (5, 10, 1)], "returned (5, 10, 1), where a run from row 6 comes next"),
        ([(0, 4, 0), (4, 3, 1)], "returned (4, 3, 1), where a run from row 4 comes next"),
        ([(0, 4, 0), (4, 8, 1)], "returned no run from row 8 on"),
        ([(0, 10)], "returned (0, 10) among its runs"),
    ],
)
def test_runs_that_do_not_cover_the_rows_are_named(runs: list[Any], says: str) -> None:
    problem = _layout_of(runs, 10, 2)
    assert isinstance(problem, str)
    assert problem.startswith(says)
    assert problem.endswith("from 0 to 10, each as (start, stop, rank), of 2 ranks")


def test_runs_may_be_given_in_any_order() -> None:
    found = _layout_of([np.array([5, 10, 0]), (0, 2, 0), (2, 5, 1), (5, 5, 1)], 10, 2)
    assert found == plans.Runs([0, 2, 5, 10], [0, 1, 0], 2)
    assert _layout_of([0, 4, 10], 10, 2) == plans.Rows([0, 4, 10])


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("y", "weights is 'y', which is not registered; there is 'x', 'z'"),
        ("z", "weights is 'z', which is <variable 'z': rows 0 to 4 of 4>; register it by"),
    ],
)
def test_weights_that_are_none_are_refused_before_the_loop(
    named: str, says: str, tmp_path: Path
) -> None:
    program = tmp_path / "weighing.py"
    program.write_text(
        "import sys\n"
        "import numpy as np\n"
        "from freestone import malleable\n"
        "with malleable.World(rows=4, weights=sys.argv[1]) as world:\n"
        "    world.variable('x', lambda start, stop: np.zeros(stop - start))\n"
        "    world.variable('z', lambda start, stop: np.zeros((stop - start, 2)))\n"
        "    for step in world.steps(2):\n"
        "        pass\n"
    )
    outcome = run(str(program), named, ranks=1)
    assert outcome.status != 0
    assert f"ConfigurationError: {says}" in outcome.err


def test_runs_may_be_copied_and_sent() -> None:
    run = Run(2, 4, np.arange(2.0))
    for same in (copy.copy(run), pickle.loads(pickle.dumps(run))):
        assert (same.start, same.stop, same.local.tolist()) == (2, 4, [0.0, 1.0])
