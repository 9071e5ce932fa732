"""Parameters of queries: as DuckDB binds them, in every part of a query."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import QueryError
from tests.collections.tables.drawing import CUT, examples, limits

duckdb = pytest.importorskip("duckdb")
with_values = pytest.importorskip("freestone.collections.tables.sql_parameters").with_values

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 127), (1 << 128) - 1)
    | st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63)])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["it's", "?", "$1", "--", "a\0b", "\\x41", "Zürich ☂"])
    | st.binary(max_size=4)
    | st.decimals(-(10**9), 10**9, places=3)
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))
    | st.uuids()
)


def same(one: Any, other: Any) -> bool:
    """Tell whether two rows are equal, NaN to NaN."""
    return repr(one) == repr(other)


@examples(300)
@given(SCALARS)
def test_values_are_as_duckdb_binds_them(value: Any) -> None:
    connection = duckdb.connect()
    query = "select typeof($1), $1"
    expected = connection.execute(query, [value]).fetchall()
    assert same(connection.execute(with_values(query, [value])).fetchall(), expected)


@examples(100)
@given(st.lists(st.integers(-5, 5), max_size=3), st.lists(st.text(max_size=3), max_size=2))
def test_lists_and_structs_are_as_duckdb_binds_them(numbers: list[int], texts: list[str]) -> None:
    connection = duckdb.connect()
    query = "select typeof($a), $a, typeof($s), $s"
    values = {"a": numbers, "s": {"texts": texts, "it's": [numbers, [None]]}}
    expected = connection.execute(query, values).fetchall()
    assert same(connection.execute(with_values(query, values)).fetchall(), expected)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (np.int64(3), "INTEGER", "3"),
        (np.float32(0.1), "FLOAT", "0.1"),
        (np.float64(0.1), "DOUBLE", "0.1"),
        (np.True_, "BOOLEAN", "true"),
        (np.datetime64("2001-02"), "DATE", "2001-02-01"),
        (np.datetime64("2001-01-02T03:04"), "TIMESTAMP", "2001-01-02 03:04:00"),
        (
            np.datetime64("2001-01-02T03:04:05.123456789"),
            "TIMESTAMP_NS",
            "2001-01-02 03:04:05.123456789",
        ),
        (
            pd.Timestamp("2001-01-02T03:04:05.123456789"),
            "TIMESTAMP_NS",
            "2001-01-02 03:04:05.123456789",
        ),
        (pd.NaT, '"NULL"', None),
        (np.datetime64("NaT"), '"NULL"', None),
        (np.timedelta64(90, "m"), "INTERVAL", "01:30:00"),
        (np.array([1, 2]), "INTEGER[]", "[1, 2]"),
        (
            datetime.datetime(
                2001, 1, 2, 3, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=5))
            ),
            "TIMESTAMP WITH TIME ZONE",
            "2001-01-01 22:04:05+00",
        ),
    ],
)
def test_values_of_numpy_and_pandas(value: Any, kind: str, text: str | None) -> None:
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    query = with_values("select typeof(?), (?)::text", [value, value])
    assert connection.execute(query).fetchall() == [(kind, text)]


TABLE = pl.DataFrame(
    {
        "station": [n % 3 for n in range(40)],
        "rain": [float(n) for n in range(40)],
        "sky": ["clear" if n % 2 else "it's grey" for n in range(40)],
        "day": [datetime.date(2001, 1, 1) + datetime.timedelta(n) for n in range(40)],
    }
)
QUERIES: list[tuple[str, Any]] = [
    ("select sum(rain) s, count(*) n from t where rain > ? and sky = ?", [7.5, "it's grey"]),
    ("select sum(rain * $1) s, max(rain + $1) n from t where station <= $2", [2, 1]),
    (
        "select rain from t where day >= $From and '?' <> $word /* ? */",
        {"from": TABLE["day"][30], "word": "Zürich"},
    ),
    ("select 'Zürich ?' u, rain r from t where rain < ? -- $1", [3]),
    ("select station s, sum(rain) r from t group by station having sum(rain) > ?", [250]),
    ("select rain r from t order by rain desc limit ? offset ?", [3, 2]),
    ("with w as (select * from t where rain < $n) select count(*) c from w", {"n": 9}),
    ("select count(*) c from t where station in ?", [[0, 2]]),
    ("select count(*) c from t where station in (?, ?) and rain <> ?", (0, 2, np.float64(3))),
    ("select station s, median(rain) + ? m from t group by 1", [1]),
    ("select sum(rain) over (order by day) + $x r from t", {"x": 1}),
    ("from t select count(*) c where sky like ?", ["%''%"]),
]


@pytest.mark.parametrize(("query", "parameters"), QUERIES)
def test_queries_by_parts(cluster: fs.Cluster, query: str, parameters: Any) -> None:
    connection = duckdb.connect()
    connection.register("t", TABLE.to_arrow())
    values = parameters
    if isinstance(parameters, tuple):
        values = [one.item() if isinstance(one, np.generic) else one for one in parameters]
    expected = pl.from_arrow(connection.sql(query, params=values).to_arrow_table())
    assert isinstance(expected, pl.DataFrame)
    with limits(**CUT):
        found = fs.sql(query, parameters, t=fs.Frame.from_polars(TABLE, 7)).to_polars()
    assert (found.schema, sorted(found.rows())) == (expected.schema, sorted(expected.rows()))


@pytest.mark.parametrize(
    ("query", "parameters", "reason"),
    [
        ("select ? + ?", [1], r"parameter \$2 has no value; the query has \$1, \$2 \(each \?"),
        ("select ?", [1, 2, 3], r"parameters \$2, \$3 are not in the query; the query has \$1"),
        ("select 1", [1], r"parameter \$1 is not in the query; it has none"),
        ("select $low, $high", {"low": 1, "hihg": 2}, r"parameter \$high has no value"),
        ("select $low", [1], r"parameter \$low has no value; the query has \$low"),
        ("select rain from t order by ?", [1], "GROUP BY and ORDER BY take no parameter"),
        ("select count(*) from t group by ?", ["x"], "GROUP BY and ORDER BY take no parameter"),
        ("selec ?", [1], "syntax error"),
        ("select rain from t where rain > ?", ["much"], "'much'"),
        ("select rain from t where rain > ?", None, r"give them, as in sql\(query, \[3\]\)"),
    ],
)
def test_wrong_parameters(query: str, parameters: Any, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        fs.sql(query, parameters, t=fs.Frame.from_polars(TABLE, 2)).to_polars()


@pytest.mark.parametrize(
    "value", [{1}, object(), 1 << 128, Decimal("NaN"), np.timedelta64(1, "ns"), 1j, range(3)]
)
def test_values_without_a_type_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"parameter 1 is .*, for which SQL has no value"):
        fs.sql("select ?", [value], t=fs.Frame.from_polars(TABLE, 2))


def test_lazy_values_are_computed_first() -> None:
    table, numbers = fs.Frame.from_polars(TABLE, 2), fs.Array.from_numpy(np.arange(4), 2)
    for value in (numbers.max(), [1, numbers.sum()]):
        with pytest.raises(TypeError, match=r"parameter 1 is a LazyArray.*write x\.compute\(\)"):
            fs.sql("select ?", [value], t=table)
    with pytest.raises(TypeError, match=r"x\.compute\(\) for a value"):
        table.filter(rain=numbers.max())


@pytest.mark.parametrize("parameters", [5, "ab", {1, 2}, fs.Frame])
def test_parameters_that_are_no_list_are_refused(parameters: Any) -> None:
    with pytest.raises(TypeError, match=r"as a list, for \? and \$1, or as a dict"):
        fs.sql("select ?", parameters, t=fs.Frame.from_polars(TABLE, 2))


def test_a_uuid_is_found() -> None:
    one = uuid.UUID(int=5)
    table = pl.DataFrame({"id": [str(one), str(uuid.UUID(int=6))]})
    found = fs.sql("select count(*) n from t where id::uuid = $id", {"ID": one}, t=table)
    assert found.to_polars().item() == 1
