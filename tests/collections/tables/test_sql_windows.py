"""Windows with an order and no keys, and of several sorts: by parts, and as DuckDB makes them."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from tests.collections.tables.drawing import CUT, limits

pytest.importorskip("duckdb")
sql = pytest.importorskip("freestone.collections.tables.sql")
from tests.collections.tables.test_sql_parts import expected_of, tables  # noqa: E402

QUERIES = [
    "select id, lag(x) over (order by a, id) p from t",
    "select *, lead(a, 2, -7) over (order by f desc, id) n from t",
    "select id, sum(a) over (order by d, id rows between 3 preceding and current row) c from t "
    "where x > -5",
    "select id, avg(a) over (order by s nulls first, id rows between 1 preceding and 2 following) "
    "v, lag(d, 3) over (order by s nulls first, id) g from t",
    "select id, count(*) over (order by a desc nulls last, id rows between 40 preceding and "
    "1 preceding) c from t",
    "select id, first_value(a) over (order by id rows 2 preceding) h, last_value(a ignore nulls) "
    "over (order by id rows between 5 preceding and 1 following) l from t order by id limit 20",
    "select id, nth_value(s, 2) over (order by id rows between current row and 3 following) n, "
    "max(a) over (order by id rows between 2 preceding and 2 following exclude current row) m "
    "from t",
    "select id, lag(x) over (order by a, id) p, sum(a) over (order by id) r, row_number() over "
    "(order by d, id) n from t order by id",
    "select id, lag(x) over (partition by s order by id) p, lag(x) over (order by id) q, sum(a) "
    "over (order by a) r from t",
    "select k.id, lag(k.a) over (order by k.id) p from t k qualify p > 1",
    "select id, row_number() over (order by id) rn from t qualify rn <= 10 and lag(id) over "
    "(order by id) is not null",
    "select id, a - lag(a) over (order by d, id) c from t order by lag(a) over (order by id), id",
    "select id, median(x) over (order by id rows between 5 preceding and 5 following) m, "
    "count(distinct s) over (order by id rows 4 preceding) c, max(x) filter (where a > 0) over "
    "(order by id rows between 2 following and 4 following) h from t",
    "select lag(id, 0) over (order by id) u, lag(id, -2) over (order by id) v, lead(s, 25, '') "
    "over (order by id) w from t",
    "select distinct lag(s) over (order by id) p from t",
    "select id, sum(a) over (order by id rows 3 preceding) + 1 u, sum(a) over (order by d) v from "
    "t",
    "select id, lag(x) over w p, lead(x) over w n, sum(a) over w c from t window w as (order by "
    "id)",
    "select s, p from (select s, lag(id) over (order by id) p from t) where p > 3",
]
_AHEAD = "rows between current row and unbounded following"
_ALL = "rows between unbounded preceding and unbounded following"
_BEFORE = "rows between unbounded preceding and 1 preceding"
QUERIES += [
    f"select id, {window} w from t"
    for window in (
        "ntile(4) over (order by id)",
        "ntile(7) over (order by d, id)",
        "ntile(5000) over (order by id desc)",
        "percent_rank() over (order by a)",
        "cume_dist() over (order by s desc nulls first)",
        "cume_dist() over (order by a, id)",
        "first_value(a) over (order by id)",
        "first_value(x) over (order by d nulls first, id)",
        "first_value(s ignore nulls) over (order by id)",
        "last_value(a) over (order by id)",
        "last_value(s ignore nulls) over (order by id)",
        f"first_value(s) over (order by id desc {_ALL})",
        f"first_value(s ignore nulls) over (order by d desc, id {_ALL})",
        f"last_value(b) over (order by id {_ALL})",
        f"last_value(s) over (order by id {_AHEAD})",
        f"last_value(s ignore nulls) over (order by id {_AHEAD})",
        f"first_value(d) over (order by id {_AHEAD})",
        f"first_value(s ignore nulls) over (order by id {_AHEAD})",
        f"sum(a) over (order by id {_BEFORE})",
        f"min(x) over (order by id {_BEFORE})",
        "count(*) over (order by id rows between 1 following and unbounded following)",
        "avg(a) over (order by a range between current row and unbounded following)",
        f"max(s) filter (where a > 0) over (order by id {_AHEAD})",
        "sum(a) filter (where b) over (order by id)",
        f"count(s) filter (where x > 0) over (order by id {_ALL})",
        f"avg(x) over (order by id {_ALL})",
        f"min(d) over (order by id {_ALL})",
    )
]
QUERIES += [
    f"select id, a * 2 + ntile(3) over (order by id) u, sum(a) over (order by id {_ALL}) v from t "
    "where a > -3 order by id",
    "select id, percent_rank() over (order by a) p, lag(id) over (order by id) l, cume_dist() over "
    "(partition by s order by id) c from t qualify p > 0.2",
]
QUERIES += [
    f"select id, {window} w from t"
    for window in (
        "sum(a) over (order by id range between 3 preceding and current row)",
        "sum(a) over (order by a range between 1 preceding and 2 following)",
        "count(*) over (order by x desc range between 0.5 preceding and 1.25 following)",
        "count(*) over (order by f range between 1 preceding and 1 following)",
        "count(*) over (order by f desc nulls first range between 1 following and 3 following)",
        "min(id) over (order by d range between interval 2 days preceding and current row)",
        "max(id) over (order by d desc nulls last range between current row and interval 3 days "
        "following)",
        "sum(a) over (order by id range between 20 preceding and 10 preceding)",
        "count(*) over (order by a range between current row and current row)",
        "count(x) filter (where b) over (order by a range 2 preceding exclude ties)",
        "sum(id) over (order by a range between 300 preceding and 300 following exclude group)",
        "sum(a) over (order by id groups between 3 preceding and current row)",
        "sum(id) over (order by a groups between 1 preceding and 1 following)",
        "count(*) over (order by s desc nulls first, b groups between 2 following and 3 following)",
        "count(distinct s) over (order by d, a groups 2 preceding exclude current row)",
        "nth_value(a, 2) over (order by id)",
        "nth_value(s, 30) over (order by d desc, id)",
        "nth_value(x, 1) over (order by id desc rows unbounded preceding)",
        "nth_value(id, 3) over (order by a, id)",
        "nth_value(id, 500) over (order by id)",
    )
]
QUERIES += [
    "select id, sum(a) over (order by id range 3 preceding) r, lag(a) over (order by id) l, "
    "count(*) over (order by id groups 1 preceding) g, nth_value(a, 3) over (order by d, id) n "
    "from t order by id",
    "select k.id, avg(k.x) over (order by k.a range between 1 preceding and 1 following) c from t "
    "k where k.b qualify c > 0",
]
AT_ONCE = [
    "select id, max(a, 2) over (order by id) c from t",
    f"select id, first_value(a) over (order by id {_BEFORE}) c from t",
    "select id, ntile(id + 1) over (order by id) c from t where id < 9",
    # Without an end, of too many rows, by another distance for each, of the first of equal rows.
    "select id, sum(a) over (order by id range between a + 30 preceding and current row) c from t",
    "select id, first_value(x) over (order by id range 3 preceding) c from t",
    "select id, nth_value(a, 2 ignore nulls) over (order by id) c from t",
    "select id, nth_value(a, id) over (order by id) c from t",
    "select id, sum(a) over (order by id range between 3 preceding and unbounded following) c "
    "from t",
    "select id, lag(x ignore nulls) over (order by id) p from t",
    "select id, count(*) over (order by a rows 3 preceding exclude ties) c from t",
    "select id, sum(a) over (order by id rows between 3 preceding and unbounded following) c "
    "from t",
    "select id, lag(x, 20000) over (order by id) p from t",
    "select id, lag(x) over (order by id + 1) p from t",
    "select id, lag(x, id) over (order by id) p from t",
]


def numbered(seed: int) -> dict[str, pl.DataFrame]:
    """Draw a table whose rows have numbers, in any order."""
    table = tables(seed)["t"].with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    return {"t": table.sample(fraction=1, shuffle=True, seed=seed)}


def check(query: str, seed: int) -> None:
    given = numbered(seed)
    with limits(**CUT):
        found = fs.sql(query, t=fs.Frame.from_polars(given["t"], 13)).to_polars()
    expected = expected_of(query, given)
    if " order by " not in query.rsplit(")", 1)[-1]:
        found, expected = found.sort(found.columns), expected.sort(expected.columns)
    assert_frame_equal(found, expected, check_exact=False)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which queries one call answers."""
    found: list[str] = []
    monkeypatch.setattr(sql, "_warn_of_size", lambda query, stages: found.append(query))
    return found


@pytest.mark.parametrize("query", QUERIES + AT_ONCE)
def test_the_same_as_of_all_rows(query: str, at_once: list[str]) -> None:
    for seed in range(3):
        at_once.clear()
        check(query, seed)
        # A table of no row, or of one, is one part.
        if len(numbered(seed)["t"]) > 1:
            assert bool(at_once) == (query in AT_ONCE)


def drawn(dice: random.Random) -> str:
    """Draw a query with windows of several sorts."""
    order = dice.choice(["a", "s desc", "f desc nulls first", "d nulls first", "x desc, a", "id"])
    others = [order, order, "id desc", "s, b"]

    def window() -> str:
        keys = dice.choice(["", "", "", "partition by b ", "partition by s, b "])
        over = f"over ({keys}order by {dice.choice(others)}, id"
        kind = dice.randint(0, 4)
        if kind == 3:
            key = dice.choice(["a", "id", "f desc", "x nulls first", "a desc nulls last"])
            low, high = sorted(dice.sample(range(-4, 6), 2))
            ends = [f"{abs(n)} {'preceding' if n < 0 else 'following'}" for n in (low, high)]
            name = dice.choice(["sum(id)", "count(*)", "min(s)", "count(distinct a)", "max(d)"])
            unit, only = dice.choice(["range", "groups"]), dice.choice(["", " exclude ties"])
            return f"{name} over (order by {key} {unit} between {ends[0]} and {ends[1]}{only})"
        if kind == 4:
            place = dice.randint(1, 40)
            return f"nth_value({dice.choice('axs')}, {place}) over (order by {order}, id)"
        if kind == 0:
            offset = dice.choice(["", ", 1", ", 3", ", -2", ", 0", ", 30", ", 2, null"])
            return f"{dice.choice(['lag', 'lead'])}({dice.choice('axs')}{offset}) {over})"
        if kind == 1:
            running = dice.choice(["sum(a)", "count(s)", "row_number()", "max(d)", "min(x)"])
            return f"{running} {over})"
        low, high = sorted(dice.sample(range(-4, 6), 2))
        low, high = dice.choice([(low, high), (low, low), (-25, high)])
        ends = [
            "current row" if n == 0 else f"{abs(n)} {'preceding' if n < 0 else 'following'}"
            for n in (low, high)
        ]
        name = dice.choice(
            ["sum(a)", "avg(a)", "count(*)", "min(s)", "first_value(x)", "median(a)"]
        )
        return f"{name} {over} rows between {ends[0]} and {ends[1]})"

    shown = ", ".join(f"{window()} c{n}" for n in range(dice.randint(1, 4)))
    where = dice.choice(["", "", " where a > 0", " where b"])
    qualify = dice.choice(["", "", f" qualify {window()} is not null", " qualify c0 is not null"])
    star = dice.choice(["id", "*", "t.*", "id, s"])
    return f"select {star}, {shown} from t{where}{qualify} order by id"


@pytest.mark.parametrize("seed", range(40))
def test_drawn_windows(seed: int) -> None:
    check(drawn(random.Random(seed)), seed)


def test_equal_rows_are_in_one_order(cluster: fs.Cluster) -> None:
    """Which of equal rows is first is open, but each row comes after one other, and only one."""
    table = pl.DataFrame({"day": [n // 9 for n in range(400)], "id": range(400)})
    table = table.sample(fraction=1, shuffle=True, seed=1)
    with limits(**CUT):
        frame = fs.Frame.from_polars(table, 50)
        query = "select id, lag(id) over (order by day) p, lead(id) over (order by day) n from t"
        found = fs.sql(query, t=frame).to_polars()
    after = dict(found.select("p", "id").iter_rows())
    assert dict(found.select("id", "n").iter_rows()) | {None: after[None]} == after | {
        row[0]: None for row in found.iter_rows() if row[2] is None
    }
    chain = [after[None]]
    while chain[-1] in after:
        chain.append(after[chain[-1]])
    assert sorted(chain) == list(range(400))
    assert [one // 9 for one in chain] == sorted(one // 9 for one in chain)
