"""SQL on frames, by DuckDB."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import freestone as fs
from freestone.errors import QueryError
from tests.collections.tables.drawing import CUT, limits

pytest.importorskip("duckdb")
TABLE = pl.DataFrame(
    {
        "station": [n % 3 for n in range(30)],
        "rain": [float(n) for n in range(30)],
        "sky": pl.Series(["clear" if n % 2 else "grey" for n in range(30)], dtype=pl.Categorical),
        "unused": ["x"] * 30,
    }
)
NAMES = pl.DataFrame({"station": [0, 1, 2], "name": ["A", "B", "C"]})


def test_a_query_of_two_frames(cluster: fs.Cluster) -> None:
    with limits(**CUT):
        rain, names = fs.Frame.from_polars(TABLE, 7), fs.Frame.from_polars(NAMES, 2)
        found = fs.sql(
            "select name, sum(rain) mm, min(sky) sky from rain join names using (station) "
            "where rain > 3 group by name order by name"
        )
        assert (found.is_lazy, found.columns) == (True, ("name", "mm", "sky"))
        expected = [("A", 132.0, "clear"), ("B", 144.0, "clear"), ("C", 153.0, "clear")]
        assert found.to_polars().rows() == expected
        wet = fs.sql("from t select count(*) n", t=rain.filter(pl.col("rain") > 20))
        assert wet.to_polars().item() == 9
        assert len(names) == 3


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select t::text s from t order by station limit 1", "(0, A)"),
        ("select t s from t order by station limit 1", {"station": 0, "name": "A"}),
        ("select count(*) from t", 3),
        ("select name from (select station, name from t) order by name desc limit 1", "C"),
        ("select max(name) from t where station < 2", "B"),
        ("select count(*) from t natural join (select 'A' as name, 5 as station) u", 0),
        ("select count(distinct name) from (from t)", 3),
        ("select sum(x.station + y.station)::int from t x, t y where x.name <> y.name", 12),
        ("select station from t where false", None),
        (
            "with recursive r(n) as (select 0 union all select n + 1 from r where n < 9) "
            "select count(*) from r join t on t.station = r.n",
            3,
        ),
    ],
)
def test_columns_that_a_query_needs_are_there(query: str, expected: object) -> None:
    found = fs.sql(query, t=fs.Frame.from_polars(NAMES, 2)).to_polars()
    if expected is None:
        assert (found.columns, len(found)) == (["station"], 0)
    elif isinstance(expected, str) and "::text" in query:
        assert "A" in found.item()
    else:
        assert found.item() == expected


@pytest.mark.parametrize(
    "query",
    [
        "select nothing from t",
        "select * from elsewhere",
        "selec",
        "select name + 1 from t",
        "select * from read_csv('/etc/passwd')",
        "create table u as select * from t",
        "select 1; select name from t",
    ],
)
def test_wrong_queries_are_refused_at_once(query: str) -> None:
    frame = fs.Frame.from_polars(NAMES, 2)
    with pytest.raises(QueryError, match="can't ask the query"):
        fs.sql(query, t=frame)


@pytest.mark.parametrize(
    ("query", "suggested"),
    [
        ("select nmae from t", 'Closest: "name"'),
        ("select t.nmae from t", "did you mean 'name'"),
        ("select name from tt", 'Closest: "t"'),
        ("select sume(station) from t", 'Closest: "sum"'),
        ("select name from t where station = ?", r"give them, as in sql\(query, \[3\]\)"),
    ],
)
def test_wrong_names_are_answered_with_the_closest(query: str, suggested: str) -> None:
    with pytest.raises(QueryError, match=suggested):
        fs.sql(query, t=fs.Frame.from_polars(NAMES, 2))


@pytest.mark.parametrize("kind", ["right", "full"])
@pytest.mark.parametrize("rows", [0, 3])
def test_outer_asof_joins_come_to_their_end(kind: str, rows: int) -> None:
    frames = {
        "t": fs.Frame.from_polars(NAMES.head(rows), 2),
        "u": fs.Frame.from_polars(pl.DataFrame({"w": [*range(90), None]}), 7),
    }
    query = f"select name, w from t asof {kind} join u on t.station >= u.w order by all"
    expected = [("A", 0), ("B", 1), ("C", 2)] if rows else [(None, 0), (None, 1), (None, 2)]
    found = fs.sql(query, **frames).to_polars()
    assert (len(found), found.filter(pl.col("w") < 3).rows()) == (91, expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select s.a from t order by id", [1, None, 3]),
        ("select s.a + 1 from t where s.b = 'z'", [4]),
        ("select count(*) from t where s.a > 1", [1]),
        ('select "s.a" from t order by id', [7, 8, 9]),
        ('select s."q""x" from t order by id', [True, None, False]),
        ('select id from t where "a""b" = 5', [1]),
        ("select s from t where id = 2", [{"a": 3, "b": "z", 'q"x': False}]),
    ],
)
def test_fields_of_structs_are_read(query: str, expected: list[Any]) -> None:
    struct = [{"a": 1, "b": "y", 'q"x': True}, None, {"a": 3, "b": "z", 'q"x': False}]
    table = pl.DataFrame({"id": [0, 1, 2], "s": struct, "s.a": [7, 8, 9], 'a"b': [4, 5, 6]})
    found = fs.sql(query, t=fs.Frame.from_polars(table, 2)).to_polars()
    assert found.to_series().to_list() == expected


def test_intervals_say_what_to_select() -> None:
    frame = fs.Frame.from_polars(pl.DataFrame({"d": [datetime.timedelta(seconds=2)]}))
    with pytest.raises(QueryError, match=r"column 'd' is an INTERVAL.*select epoch_us\(\)"):
        fs.sql("select d from t", t=frame)
    assert fs.sql("select epoch_us(d) u from t", t=frame).to_polars().item() == 2_000_000


def test_words_in_texts_and_comments_name_no_frame() -> None:
    kept, other = (fs.Frame.from_polars(NAMES, 2) for _ in range(2))
    query = """select count(*) n, 'other' s, $$ other $$ d from kept -- of other, 'too
        where name <> 'it''s other' /* or
        other */"""
    found = fs.sql(query)
    assert [len(step.inputs) for step in [found._node]] == [1]
    assert found.to_polars().rows() == [(3, "other", " other ")]
    with pytest.raises(QueryError, match="names no frame"):
        fs.sql("select 'other' -- kept")
    quoted = fs.sql('select count(*) from "it\'s mine"', **{"it's mine": other, "kept": kept})
    assert quoted.to_polars().item() == 3


def test_a_query_without_frames_is_refused() -> None:
    with pytest.raises(QueryError, match="names no frame"):
        fs.sql("select 1")


@pytest.mark.parametrize("query", [None, 3, ["select 1"]])
def test_a_query_is_a_text(query: Any) -> None:
    with pytest.raises(TypeError, match=r"sql\(\) takes a query as text, as in sql\('select"):
        fs.sql(query, t=fs.Frame.from_table({"a": [1]}, 1))


@pytest.mark.parametrize("made", [pl.DataFrame.lazy, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas])
def test_tables_of_others_are_asked(made: Callable[[pl.DataFrame], Any]) -> None:
    here = pl.DataFrame({"k": [1, 2, 3], "v": [5, 6, 7]})
    frame = fs.Frame.from_polars(pl.DataFrame({"k": [2, 3]}), 1)
    for table in (here, made(here)):
        found = fs.sql("select sum(v) from t join f using (k)", f=frame, t=table)
        assert found.to_polars().item() == 13


@pytest.mark.parametrize("table", [{"k": [1]}, [1, 2], 7, None, fs.Array.from_numpy([1.0], 1)])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(TypeError, match=r"sql\(\) takes frames and tables .* and 't' is"):
        fs.sql("select * from t", t=table)
