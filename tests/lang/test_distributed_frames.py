"""Frames of scripts on a cluster: the same as in the script's process; their rows stay there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone import Cluster
from freestone.errors.lang import ScriptRunError
from freestone.lang.compile.placing import FRAMES
from freestone.lang.run.distributed import tables
from tests.collections.tables.drawing import CUT, limits
from tests.lang.scripts import outcome, outcome_on, printed, printed_on

pl = pytest.importorskip("polars")
pytest.importorskip("duckdb")

READ = 'F = readFrame("f.csv"); G = readFrame("g.csv"); registerView("f", F); '
HERE = {
    "groups": 'print(sql("SELECT k, SUM(x) AS t, COUNT(*) AS n, AVG(x) FROM f GROUP BY k"));',
    "rows": 'print(sql("SELECT x, f.s FROM f WHERE x > 23.0"));',
    "median": 'print(sql("SELECT k, MEDIAN(x) AS m FROM f GROUP BY k"));',
    "two tables": 'registerView("g", G); print(sql("SELECT g.n, SUM(x) AS t FROM f, g '
    'WHERE f.k = g.id GROUP BY g.n"));',
    "two names": 'print(sql("SELECT k AS a, f.k FROM f ORDER BY f.k LIMIT 2"));',
    "missing": 'print(sql("SELECT MAX(x) AS t FROM f WHERE k > 99"));',
    "joined": 'J = innerJoin(F, G, "k", "id"); print(nrow(J)); print(J[2:9, 1:4]); '
    'print(groupSum(J, "n", "x"));',
    "joined to the left": 'print(innerJoin(G, F, "id", "k")[0:20, ]);',
    "in order": "print(order(F, 0, 1, true, false, false)[0:9, ]);",
    "descending": "print(order(F, 2, false, false)[3, ]);",
    "as matrix": 'X = as.matrix<f64>(F[, "x"]); print(sum(X)); print(aggMax(X, 1));',
    "filter": 'print(nrow(F[[as.matrix<f64>(F[, "x"]) > 23.0, ]]));',
    "labels": 'P = setColLabelsPrefix(F, "p"); print(P[0:3, ]); print(ncol(P));',
}
FETCHED = {
    "print": "print(F);",
    "positions": "print(F[seq(0, 10, 5), ]); print(order(F, 0, true, true)[0:4, ]);",
    "pairs": 'A, B = semiJoin(G, F, "id", "k"); print(A); print(B);',
    "sums of reals": 'print(groupSum(F, "x", "k")[0:5, ]);',
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dice = np.random.default_rng(3)
    columns = {"k": dice.integers(0, 7, 400), "x": dice.integers(0, 100, 400) / 4}
    texts = [("a", "bb", "ç")[at % 3] for at in range(400)]
    pl.DataFrame({**columns, "s": texts}).write_csv("f.csv")
    names = ["five", "three", "one", "nine", "drei"]
    pl.DataFrame({"id": [5, 3, 1, 9, 3], "n": names}).write_csv("g.csv")


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many rows of frames come to the script's process."""
    found: list[int] = []

    def noted(self: Any) -> Any:
        found.append(self.shape[0])
        return fetch(self)

    fetch = tables.SplitFrame.fetched
    monkeypatch.setattr(tables.SplitFrame, "fetched", noted)
    return found


@pytest.mark.parametrize("name", [*HERE, *FETCHED])
def test_the_same_as_here(two_workers: Cluster, fetched: list[int], name: str) -> None:
    script = READ + (HERE | FETCHED)[name]
    with limits(**CUT):
        assert printed_on(two_workers, script) == printed(script)
    assert (max(fetched, default=0) >= 400) == (name in FETCHED)


def test_workers_write_them(two_workers: Cluster, fetched: list[int]) -> None:
    script = READ + 'writeFrame(order(F, 1, true, false), "o.csv");'
    assert printed_on(two_workers, script) == ""
    assert not fetched
    found = printed('print(readFrame("o.csv"));')
    assert found == printed(READ + "print(order(F, 1, true, false));")


@pytest.mark.parametrize(
    "script",
    [
        'print(sql("SELECT MAX(k) AS t FROM f WHERE k > 99"));',
        "print(F[400, ]);",
        'F = readFrame("g.csv"); print(innerJoin(F, G, "no", "id"));',
    ],
)
def test_errors_are_those_of_a_local_run(two_workers: Cluster, script: str) -> None:
    expected = outcome(READ + script)
    assert "script:1:" in expected
    assert outcome_on(two_workers, READ + script) == expected


def test_cells_that_are_missing(two_workers: Cluster) -> None:
    lines = [f"{at},{at}" for at in range(3000)]
    Path("m.csv").write_text("\n".join([*lines, ",1"]) + "\n")
    Path("m.csv.meta").write_text(
        '{"numRows": 3001, "numCols": 2, "schema": [{"label": "a", "valueType": "si64"}, '
        '{"label": "b", "valueType": "si64"}]}'
    )
    with pytest.raises(ScriptRunError, match="missing cells"):
        printed_on(two_workers, 'print(sum(as.matrix<f64>(readFrame("m.csv")[, "b"])));')


def test_without_polars_rows_are_read_here(
    two_workers: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables.importlib.util, "find_spec", lambda name: None)
    script = READ + HERE["groups"]
    assert printed_on(two_workers, script) == printed(script)


def test_plans_say_which_steps_are_done_to_blocks() -> None:
    assert set(tables.STEPS) == FRAMES
