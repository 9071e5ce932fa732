"""Joins in SQL that would make far too many rows are refused before they are begun."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import freestone as fs
from freestone.collections.tables.sql_guarding import check_query
from freestone.errors import ExplodingJoinError
from tests.collections.tables.drawing import MOVED, limits
from tests.lang.scripts import outcome, outcome_on

duckdb = pytest.importorskip("duckdb")
MANY = 200_000
SAME = {
    "a": pl.DataFrame({"k": np.zeros(MANY, "i8"), "x": np.arange(MANY)}),
    "b": pl.DataFrame({"k": np.zeros(MANY, "i8"), "y": np.arange(MANY)}),
    "d": pl.DataFrame({"k": [0], "z": [1]}),
    "u": pl.DataFrame({"k": np.arange(MANY), "x": np.arange(MANY)}),
}
REFUSED = [
    "select count(*) from a join b using (k)",
    "select count(*) from a, b where a.k = b.k",
    "select a.*, y from a join b on a.k = b.k",
    "select x, y from a left join b on a.k = b.k and x > 5",
    "select k, sum(x * y) from a join b using (k) group by k",
    "select count(*) from a natural join b",
    "select count(*) from a cross join b",
    "select count(*) from a one join a two using (k)",
    "select count(*) from a join b using (k) join d using (k)",
    "with q as (select k from a where x > 7) select count(*) from q join b using (k)",
    "select count(*) from (select k from a where x > 7) q join b on q.k = b.k",
    "select s from (select sum(x) s from a join b using (k))",
    "select count(*) from d where z < (select count(*) from a join b using (k))",
    "select median(x) from a join b using (k)",
    "select x, y from a join b using (k) order by x limit 3",
]
ANSWERED = {
    "select count(*) from a join b on a.k = b.k and x = y": MANY,
    "select count(*) from (select x, y from a join b using (k) limit 5)": 5,
    "select count(*) from a semi join b using (k)": MANY,
    "select count(*) from a join u using (k)": MANY,
    "select count(*) from a join b using (k) join d on d.k = a.k and z = x and z = y": 1,
    "select count(*) from a, b where a.k = b.k and a.x = b.y": MANY,
    "select count(*) from a, b, u where a.x = u.k and b.y = u.x and a.x = b.y": MANY,
}


def framed() -> dict[str, fs.Frame]:
    return {name: fs.Frame.from_polars(table, MANY // 2) for name, table in SAME.items()}


@pytest.mark.parametrize("query", REFUSED)
def test_it_is_refused(query: str) -> None:
    with pytest.raises(ExplodingJoinError, match="would make about") as it:
        fs.sql(query, **framed()).to_polars()
    assert it.value.rows > 10**10
    assert ("k = " in it.value.keys) is ("cross" not in query)


@pytest.mark.parametrize("query", ANSWERED)
def test_what_makes_few_rows_is_answered(query: str) -> None:
    assert fs.sql(query, **framed()).to_polars().item() == ANSWERED[query]


@pytest.mark.parametrize("sizes", [{}, MOVED | {"part_nbytes": MANY * 8}])
def test_with_a_cluster(two_workers: fs.Cluster, sizes: dict[str, int]) -> None:
    with (
        limits(**sizes),
        pytest.raises(ExplodingJoinError, match=r"by a\.k = b\.k, of .*group one"),
    ):
        fs.sql("select count(*) from a join b using (k)", **framed()).to_polars()


@pytest.mark.parametrize("skew", [0.0, 1.5])
def test_what_a_sample_says_is_about_right(skew: float) -> None:
    dice = np.random.default_rng(5)
    weights = np.arange(1, 1001) ** -skew
    tables = {}
    for name, rows in (("a", 40_000), ("b", 130_000)):
        keys = dice.choice(1000, rows, p=weights / weights.sum())
        tables[name] = pl.DataFrame({"k": keys, "x": np.arange(rows)})
    each = [np.bincount(table["k"], minlength=1000) for table in tables.values()]
    nbytes = 32 * int(each[0] @ each[1])
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table.to_arrow())
    query = "select a.x, b.x y from a, b where a.k = b.k"
    check_query(connection, query, tables, 2 * nbytes)
    with pytest.raises(ExplodingJoinError) as it:
        check_query(connection, query, tables, nbytes // 2)
    assert nbytes / 2 < it.value.nbytes < 2 * nbytes


@pytest.mark.parametrize(
    "step",
    [
        'c = innerJoin(a, b, "k", "j");',
        'registerView("a", a); registerView("b", b); '
        'c = sql("SELECT COUNT(a.x) AS n FROM a JOIN b ON a.k = b.j;");',
        "c = cartesian(a, b);",
    ],
)
def test_in_scripts(two_workers: fs.Cluster, step: str) -> None:
    script = """
        n = 200000;
        a = createFrame(fill(0, n, 1), seq(1, n, 1), "k", "x");
        b = createFrame(fill(0, n, 1), seq(1, n, 1), "j", "y");
    """
    script += f"{step} print(nrow(c));"
    assert "it would make about 40,000,000,000" in outcome(script)
    assert "it would make about" in outcome_on(two_workers, script)
