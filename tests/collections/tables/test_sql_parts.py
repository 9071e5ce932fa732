"""SQL by parts of a table gives what DuckDB gives of all rows."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from freestone.collections.tables import sql
from tests.collections.tables.drawing import CUT, limits

duckdb = pytest.importorskip("duckdb")

ALSO_BY_PARTS = [
    "select median(x), count(distinct a) from t",
    "select a, b, sum(x), count(*) from t group by rollup (a, b) order by all",
    "select s, b, avg(a) m, grouping(s, b) g, grouping(b) h from t "
    "group by cube (s, b) order by all",
    "select s, d, max(x) + 1 from t where a > 0 group by grouping sets ((s), (d), ()) "
    "having count(*) > 1 order by all",
    "select s, b, median(x) from t group by grouping sets ((s, b), (s)) order by all",
    "select a, x from t where b union all select w, a from u, t where u.s = t.s order by all",
    "select a from t union all select w from u order by 1 desc nulls last limit 7",
    "select s, b from t union select s, null from u order by all",
    "select x from t union select w from u order by 1",
    "select s, count(*) from (select s from t union all select s from u) group by s order by all",
    "with k as (select s, a from t union select n, w from u) "
    "select k.s, sum(x) from k join t using (s) group by all order by all",
    "select a from t where s in (select s from u union all select s from t where a > 2) order by a",
    "select p.a, q.x from t p join t q on p.a = q.a and p.b order by all",
    "select p.s, count(*) from t p, t q, u where p.s = q.s and q.s = u.s group by all order by all",
    "select t.a, q.a as c from t left join t q on t.s = q.s and q.x > 0 order by all",
    "select s, a from t p where x = (select max(x) from t q where q.s = p.s) order by all",
    "select a from t where exists (select 1 from t q where q.a = t.a and q.x > t.x) order by a",
    "pivot t on b in (true, false) using sum(a) group by s order by s",
    "pivot t on s in ('a', 'b') using max(x) m, avg(a) group by b, d order by all",
    "pivot (select s, b, a from t) on s in ('', 'é') using sum(a) order by all",
    "select * from (pivot t on b in (true, false) using count(*) group by s) order by all",
]
OF_SETS = [
    "select a from t except select w from u order by 1",
    "select s, b from t except all select n, w > 1 from u order by all",
    "select w from u intersect select a from t order by 1",
    "select x, f from t intersect all select x, f from t where a > 0 order by all",
    "select s, a from t except select s, w from u intersect select s, a from t order by all",
    "(select a from t order by a limit 9) except all (select w from u) order by 1 desc limit 4",
    "select count(*), max(a) from (select a, s from t except all select w, s from u)",
    "select 1 a union all select a from t order by 1",
    "select a from t except select 7 order by 1",
    "select s, a from t union all by name select n, s from u order by all",
    "select S, a from t union by name select w as a, s from u order by all",
    "select b, x from t union by name select x + 1 as X, d from t order by all",
]
IN_ORDER = [
    "select x, median(a) from t group by x order by x",
    "select count(distinct x) from t",
    "select s, median(x) from t group by s order by max(a), s",
    "select a from t order by x * 2, a",
    "select s as a, a as s from t order by t.a, t.s",
    "select *, a % 2 p from t order by -a, x + f, s, b, d limit 9",
    "select x as q from t order by q + 1, a limit 5 offset 2",
    "select distinct on (s) s, a from t order by s, a, x",
    "select distinct on (a % 3, b) a, x from t order by a % 3, b, a desc, x limit 3",
    "select distinct on (1) b, max(a) m from t group by b, s order by 1, m desc",
    "select distinct on (u.n) u.n, x from t join u using (s) order by u.n, x nulls last, a",
    "select distinct on (k) k from (select s k from t) order by k",
]
OF_ALL = [
    "select a, sum(a) over () c from t order by all",
    "select x / sum(x) over () from t where b order by 1",
    "select s, count(*) over () n, max(a) filter (where b) over () m from t join u using (s) "
    "order by all",
    "select a - avg(a) over () v, row_number() over (partition by a order by x, s, b, d, f) r "
    "from t order by all",
    "select b, c / max(c) over () v from (select b, count(*) c from t group by b) order by all",
    "select stddev(x), variance(a), var_pop(x), stddev_pop(a) from t",
    "select s, stddev_samp(a) v, var_samp(x) filter (where b) w, count_if(b) n from t group by s "
    "order by s",
    "select b, var_pop(a + 1e9) v from t group by rollup (b) order by all",
]
NEAREST = [
    "select t.a, x, u.n from t asof join u on t.a >= u.w order by all",
    "select t.a, u.w, u.n from t asof left join u on t.s = u.s and t.a > u.w where b order by all",
    "select n, count(*) c, sum(x) v from t asof join u on t.a <= u.w group by n order by n",
    "select t.a, u.w from t asof left join (select w from u where w > 1) u on a >= w order by all",
]
RUNNING = [
    "select a, sum(a) over (order by a, x) c from t order by all",
    "select a, lag(a) over (order by a) c from t order by all",
    "select a, sum(x) over (order by a) c, sum(x) over (order by a desc) from t order by all",
    "select a, sum(x) over (order by a rows 2 preceding) c from t where false order by all",
    "select sum(a) over (partition by s), max(a) over (partition by b) c from t order by all",
    "select a, x, row_number() over (order by a, x, s, b, d, f) r from t order by r limit 9",
    "select a, rank() over (order by a) r, dense_rank() over (order by a, b) q from t order by all",
    "select a, count(*) over (order by a desc) n, count(x) over (order by a desc, b) m from t "
    "order by all",
    "select x, avg(a) over (order by x) v, min(s) over (order by x) lo, max(d) over (order by x) h "
    "from t order by all",
    "select *, sum(x) over (order by d nulls first, a, x, s, b, f rows between unbounded preceding "
    "and current row) - x as w from t where b order by all",
    "select s, max(f) filter (where b) over (order by s) m from t order by all limit 7",
    "select distinct s, count(*) over (order by s) n from t order by n, s",
    "select t.a, sum(t.x) over (order by t.a) from t order by all",
    "select s, c, sum(c) over (order by s) q from (select s, count(*) c from t group by s) "
    "order by all",
]
BY_PARTS = [
    "select count(*) n, sum(a) s, sum(x) x, avg(a) m, avg(x) y, min(s), max(d), count(x) from t",
    "select s, sum(a) n, avg(f) f, max(x) - min(x) r from t group by s order by s",
    "select S as K, t.b, count(*) filter (where a > 2) n from t group by all order by 1, 2",
    "select a % 2 p, sum(a) / count(a) q, bool_and(b) from t where x > 0 group by p order by p",
    "select sum(a) // 2 h, sum(a) % 3 r, sum(a)::text c from t group by b, a % 3 order by h, r",
    "select date_trunc('month', d) m, count(d) n from t group by 1 order by n desc, m limit 2",
    "select s, avg(x) m from t group by s having m > 0 and sum(a) > 3 order by avg(x), s offset 1",
    "select u.n, sum(x * u.w) v from t join u on t.s = u.s group by u.n order by u.n",
    "select u.n, count(*) c from t left join u using (s) group by u.n order by u.n nulls first",
    "select n, max(a) from u, t where u.s = t.s and w > 1 group by n having sum(a) > 1 order by 1",
    "select a, x from t where a in (select w from u) order by a, x desc nulls last limit 5",
    "select distinct s, b from t order by s, b",
    "select t.s, -x as x from t semi join u using (s) order by x, t.s limit 7",
    "select * from t anti join u using (s) order by t.a, x, s, d, b, f",
    "select sum(a), count(*) from t where false",
    "select count(*), sum(w) from u left join t using (s)",
    "select s from t where false group by s",
    "select case when b then a else 0 end c, any_value(1) o from t group by c order by c",
    "select a + (select max(w) from u) c from t order by c",
    "select count(distinct a) c, sum(distinct a) s, count(*) n from t",
    "select b, count(distinct s) c, avg(distinct a) m, sum(x) x from t group by b order by b",
    "select b, count(distinct a) filter (where x > 0) c from t group by b order by c, b",
    "select s, median(x) from t group by s order by s",
    "select s, count(distinct a) c, count(distinct b) from t group by s order by c desc, s",
    "select s, median(x), max(a), b from t group by s, b having max(x) > 0 order by max(a), s, b",
    "select s, string_agg(d, '' order by d) from t group by s order by s",
    "select a, sum(x) over (partition by s order by a, x) c from t order by all",
    "select s, a, rank() over w r from t window w as (partition by s, b order by a) order by all",
    "select s, a from t qualify row_number() over (partition by s order by a, x, f, b, d) <= 2 "
    "order by s, a",
    "select t.a, count(u.w) over (partition by a) from t left join u using (s) order by all",
    "select s, count(*) c, dense_rank() over (partition by s order by count(*)) from t group by s "
    "order by s",
    "with k as (select a from t) select max(a) from k",
    "with k as (select s, sum(a) a from t group by s) select sum(a) h, max(a) // 2 from k",
    "with k(p, q) as (select s, a from t where x > 0), "
    "m as (select p, count(*) n from k group by 1) "
    "select u.n, m.n as c from m join u on u.s = m.p order by all",
    "with k as (select s, sum(a) a from t group by s) "
    "select t.s, k.a, typeof(k.a), sum(x) from t join k using (s) group by all order by all",
    "select max(c), sum(h) // 2 from (select s, count(*) c, sum(a) h from t group by s)",
    "select k.q, u.n from (select s, max(a) from t group by all) k(p, q) join u on u.s = k.p "
    "order by all",
    "select b, sum(m) v from (select b, max(c) m "
    "from (select b, s, count(*) c from t group by b, s) group by b) group by b order by b",
    "select count(*) from (select distinct s, b from t)",
    "with k as (select s, b, sum(a) a from t group by s, b) "
    "select count(*), max(v) from (select b, sum(a)::bigint v from k group by b)",
    "select b, count(r) from (select b, row_number() over (partition by a) r from t) group by b "
    "order by b",
    "select string_agg(s, '') from (select s from t order by s)",
    "select x.n, y.n as m from (select count(*) n from t) x, (select count(distinct a) n from t) y",
    "select a from t where x > (select avg(x) from t) order by a",
    "select s, sum(a) c from t group by s having sum(x) > (select avg(x) from t) order by s",
    "select a from t where s in (select s from t group by s having count(*) > 5) order by a",
    "select a, (select count(distinct s) from t) c from t where b order by a",
    *ALSO_BY_PARTS,
    *OF_SETS,
    *IN_ORDER,
    *OF_ALL,
    *NEAREST,
    *RUNNING,
]
AT_ONCE = [
    "select count(*) from u join u z using (s) where u.w in (select a from t)",
    "select count(*) over (partition by a % 2) c from t order by all",
    "select geomean(a + 3) from t",
    "with recursive k as (select 1 a union all select k.a + 1 from k, u where k.a < 3) "
    "select count(*) from k, t",
    "select b, count(distinct a) from t group by rollup (b) order by all",
    "select s, median(x) from t group by rollup (s) order by all",
    "select d from t union all select s from u order by 1",
    "select u.w, t.a from u asof join t on u.w >= t.a order by all",
]


def tables(seed: int) -> dict[str, pl.DataFrame]:
    """Draw tables with missing values, of which some have no partner in the other."""
    dice = random.Random(seed)
    rows = dice.choice([0, 1, 40, 90])

    def column(dtype: Any, values: list[Any]) -> pl.Series:
        return pl.Series([dice.choice([None, *values]) for _ in range(rows)], dtype=dtype)

    texts = ["", "a", "b", "é"]
    return {
        "t": pl.DataFrame(
            {
                "a": column(pl.Int64, [-3, 0, 1, 2, 7, 2**40]),
                "x": column(pl.Float64, [0.5, -2.0, 0.0, -0.0, 8.25]),
                "f": column(pl.Float32, [0.5, -1.5, float("nan")]),
                "s": column(pl.String, texts).cast(dice.choice([pl.String, pl.Categorical])),
                "b": column(pl.Boolean, [True, False]),
                "d": column(pl.String, ["2020-01-31", "2021-02-01"]).str.to_date(),
            }
        ),
        "u": pl.DataFrame(
            {"s": ["a", "b", "c", None], "w": [1, 2, 7, None], "n": ["one", "two", None, "two"]}
        ),
    }


def expected_of(query: str, given: dict[str, pl.DataFrame]) -> Any:
    connection = duckdb.connect()
    for name, table in given.items():
        connection.register(name, table.cast({pl.Categorical: pl.String}).to_arrow())
    return pl.from_arrow(connection.sql(query).to_arrow_table())


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note for each query whether it is one by parts."""
    found: list[bool] = []

    def noted(*args: Any) -> Any:
        made = by_parts(*args)
        found.append(made is not None)
        return made

    by_parts = sql.by_parts
    monkeypatch.setattr(sql, "by_parts", noted)
    return found


@pytest.mark.parametrize("query", BY_PARTS + AT_ONCE)
def test_the_same_as_of_all_rows(query: str, ways: list[bool]) -> None:
    for seed in range(4):
        given = tables(seed)
        frames = {name: fs.Frame.from_polars(table, 13) for name, table in given.items()}
        with limits(**CUT):
            found = fs.sql(query, **frames).to_polars()
        assert_frame_equal(found, expected_of(query, given), check_exact=False)
    assert any(ways) == (query in BY_PARTS)


def drawn(dice: random.Random) -> str:
    """Draw a query of groups, or with windows, perhaps of a named query."""
    keys = dice.sample(["s", "b", "d", "a % 3", "x"], dice.randint(0, 2))
    columns = ["a", "x", "f", "s", "b", "d", "a + 1"]
    source = dice.choice(
        ["t", "t", "k", "(select * from t where x > -3)", "t left join u using (s)"]
    )
    named = "with k as (select * from t where a is not null) " if source == "k" else ""
    if "join" in source:
        keys, columns = [key for key in keys if key != "s"], [c for c in columns if c != "s"]
    where = dice.choice(["", " where a > 0", " where b"])

    def aggregate() -> str:
        distinct = dice.choice(["", "", "distinct "])
        name, column = dice.choice(["count", "min", "max"]), dice.choice(columns)
        if dice.random() < 0.4:
            name, column = dice.choice(["sum", "avg", "median"]), dice.choice(["a", "x"])
        return f"{name}({distinct}{column})"

    if dice.random() < 0.4:
        over = f"partition by {', '.join(keys)}" if keys else ""
        extremes = f"count(*) over ({over}), max(a) over ({over}), avg(a) over (partition by b)"
        shown = dice.choice([extremes, extremes.rsplit(",", 1)[0]])
        return f"{named}select a, b, {shown} from {source}{where} order by all"
    shown = ", ".join([*keys, *(f"{aggregate()} c{n}" for n in range(dice.randint(1, 3)))])
    grouped = f" group by {', '.join(keys)}" if keys else ""
    having = dice.choice(["", " having count(distinct a) > 1"])
    return f"{named}select {shown} from {source}{where}{grouped}{having} order by all"


@pytest.mark.parametrize("seed", range(60))
def test_drawn_queries(seed: int) -> None:
    dice = random.Random(seed)
    given = tables(seed)
    frames = {name: fs.Frame.from_polars(table, 13) for name, table in given.items()}
    query = drawn(dice)
    with limits(**CUT):
        found = fs.sql(query, **frames).to_polars()
    assert_frame_equal(found, expected_of(query, given), check_exact=False)


def drawn_of_others(dice: random.Random) -> str:
    """Draw a set operation, sets of groups, a pivot or a table joined with itself."""
    keys = dice.sample(["s", "b", "d", "a % 3"], dice.randint(1, 3))
    aggregates = ["sum(a)", "count(*)", "avg(a)", "min(x)", "max(s)", "count(a)", "median(x)"]
    shown = ", ".join(f"{one} c{n}" for n, one in enumerate(dice.sample(aggregates, 2)))
    where = dice.choice(["", " where a > 0", " where b"])
    kind = dice.choice(["rows", "sets", "pivot", "itself", "value"])
    if kind == "rows":
        sides = ["select s, a from t where x > 0", "select n s, w from u", "select s, x from t"]
        sides += ["select s, sum(a) from t group by s", "select s, w + 0.5 from u"]
        words = [
            f"{one}{more}" for one in ("union", "except", "intersect") for more in ("", " all")
        ]
        text, *others = dice.sample(sides, dice.randint(2, 3))
        text = " ".join([text, *(f"{dice.choice(words)} {side}" for side in others)])
        return dice.choice([f"{text} order by all", f"select count(*), max(s) from ({text})"])
    if kind == "sets":
        sets = dice.choice(["rollup", "cube"])
        names = ", ".join(f"{key} k{n}" for n, key in enumerate(keys))
        grouped = f"group by {sets} ({', '.join(keys)}) order by all"
        return f"select {names}, {shown} from t{where} {grouped}"
    if kind == "pivot":
        column, values = dice.choice([("s", "'a', '', 'no'"), ("b", "true"), ("a", "-3, 2")])
        by = [key for key in ("s", "b", "d") if key != column][: dice.randint(1, 2)]
        shown = shown.replace("max(s)", "max(d)")
        return (
            f"pivot t on {column} in ({values}) using {shown} group by {', '.join(by)} order by all"
        )
    how = dice.choice(["join", "left join", "semi join", "anti join"])
    on = dice.choice(["p.a = q.a", "p.s = q.s and q.b", "p.b = q.b and p.d = q.d and q.a > p.a"])
    if kind == "itself":
        joined = f"t p {how} t q on {on}"
        return f"select p.s, p.b, sum(p.a), count(*) from {joined} group by all order by all"
    return f"select s, a from t p where a >= (select max(a) from t q where {on}) order by all"


@pytest.mark.filterwarnings("ignore:one call, on one worker")
@pytest.mark.parametrize("seed", range(60))
def test_drawn_queries_of_other_forms(seed: int) -> None:
    dice = random.Random(seed)
    given = tables(seed)
    frames = {name: fs.Frame.from_polars(table, 13) for name, table in given.items()}
    query = drawn_of_others(dice)
    with limits(**CUT | dice.choice([{}, {"broadcast_nbytes": -1}])):
        found = fs.sql(query, **frames).to_polars()
    assert_frame_equal(found, expected_of(query, given), check_exact=False)


def test_a_pivot_needs_its_columns() -> None:
    frame = fs.Frame.from_table({"k": [1, 2], "v": [1.0, 2.0]}, 1)
    with pytest.raises(fs.errors.QueryError, match="name the values, as in PIVOT t ON kind IN"):
        fs.sql("pivot t on k using sum(v)", t=frame)


def test_no_call_gets_all_rows(cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    # No two parts have the same rows, which one call would answer for both.
    rows = pl.DataFrame({"k": [n % 3 for n in range(10_000)], "v": map(float, range(10_000))})
    with limits(small_nbytes=1 << 14, part_nbytes=1 << 15):
        frame = fs.Frame.from_polars(rows, 1000)
        before = cluster.statistics().done
        query = "select k, sum(v) v from t group by k order by k"
        found = fs.sql(query, t=frame).to_polars()
        assert cluster.statistics().done - before >= 6
    assert found.rows() == [(0, 16_668_333.0), (1, 16_661_667.0), (2, 16_665_000.0)]


MOVED = [
    "select count(*) n, sum(w) w from t join v using (s)",
    "select t.a, v.w from t, v where t.s = v.s and t.a = v.w and v.w > 0 order by 1, 2",
    "select u.n, count(*) c, max(v.w) w from t left join v on t.s = v.s and v.w > 1 "
    "left join u on u.s = t.s group by u.n order by u.n",
    "select count(*) from t join v on t.x = v.y",
    "select v.w, count(t.a) c from t full join v on v.w = t.a group by v.w order by v.w",
    "select a, x from t anti join v on t.a = v.w order by a, x",
    "select k.w, sum(a) from (select w, a from v, t where v.w = a) k group by k.w order by k.w",
]
MOVED += [
    "select t.a, v.w from t asof join v on t.s = v.s and t.a >= v.w order by all",
    "select t.a, v.w from t asof left join v on t.x = v.y and v.w > t.a order by all",
    "select s, count(t.a) c from t asof join (select s, w a from v) k using (s, a) group by s "
    "order by s",
]
NOT_MOVED = [
    "select t.a, v.w from t asof join v on t.a >= v.w order by all",
    "select t.a, v.w from t asof join v on t.a >= v.w where t.s = v.s order by all",
    "select count(*) from t join v on t.a < v.w",
    "select count(*) from t left join v on t.a > 1 where t.s = v.s",
    "select count(*) from t where exists (select 1 from v where v.s = t.s)",
]


@pytest.mark.filterwarnings("ignore:one call, on one worker:RuntimeWarning")
@pytest.mark.parametrize("query", MOVED + NOT_MOVED)
def test_two_tables_too_large_to_be_sent(query: str, ways: list[bool]) -> None:
    for seed in (1, 2, 3):
        given = tables(seed)
        others = tables(seed + 10)["t"].select("s", w=pl.col("a"), y=pl.col("x"))
        given["v"] = others.with_columns(pl.col("s").cast(pl.String))
        frames = {name: fs.Frame.from_polars(table, 13) for name, table in given.items()}
        with limits(**(CUT | {"broadcast_nbytes": 200})):
            found = fs.sql(query, **frames).to_polars()
        assert_frame_equal(found, expected_of(query, given), check_exact=False)
        if len(given["t"]) > 20 and len(others) > 20:
            assert ways[-1] == (query in MOVED)
