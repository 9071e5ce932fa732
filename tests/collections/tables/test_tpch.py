"""All queries of TPC-H on a small set, against DuckDB's answers to the same in SQL."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from benchmarks.tpch.data import generate, load
from benchmarks.tpch.queries import QUERIES
from benchmarks.tpch.sql import SQL
from tests.collections.tables.drawing import limits

duckdb = pytest.importorskip("duckdb")
SCALE = 0.01
# The largest table has some 10 MB of rows; of parts that small it has several, as have others.
SIZES = {"small_nbytes": 1 << 14, "part_nbytes": 2 << 20}
WAYS = {
    "sent": SIZES | {"broadcast_nbytes": 1 << 30},
    "moved": SIZES | {"broadcast_nbytes": 0},
    "at once": {},
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, SCALE)
    return load(folder)


@pytest.fixture(scope="module")
def database(tables: dict[str, pl.DataFrame]) -> Any:
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table.to_arrow())
    return connection


@pytest.fixture(scope="module")
def frames(tables: dict[str, pl.DataFrame], cluster: fs.Cluster) -> dict[str, Any]:
    found = {name: fs.Frame.from_polars(table, name=name) for name, table in tables.items()}
    return {**found, "scale": SCALE}


def as_floats(table: pl.DataFrame) -> pl.DataFrame:
    """Have numbers be of one type, and a sum of nothing be 0, which is NULL in SQL."""
    numbers = {name: pl.Float64 for name, dtype in table.schema.items() if dtype.is_numeric()}
    return table.cast(numbers).with_columns(pl.col(pl.Float64).fill_null(0.0))


@pytest.mark.parametrize("way", WAYS)
def test_queries(frames: dict[str, Any], database: Any, way: str) -> None:
    for name, query in QUERIES.items():
        answer = database.sql(SQL[name].replace("{scale}", str(SCALE))).to_arrow_table()
        expected = pl.from_arrow(answer)
        assert isinstance(expected, pl.DataFrame)
        with limits(**WAYS[way]):
            found = query(frames).to_polars()
        assert_frame_equal(as_floats(found), as_floats(expected), abs_tol=1e-6)


@pytest.mark.filterwarnings("ignore:one call, on one worker:RuntimeWarning")
@pytest.mark.parametrize("broadcast_nbytes", [1 << 30, 1 << 20, 1 << 16])
def test_queries_in_sql(frames: dict[str, Any], database: Any, broadcast_nbytes: int) -> None:
    tables = {name: frame for name, frame in frames.items() if name != "scale"}
    for text in SQL.values():
        query = text.replace("{scale}", str(SCALE))
        expected = pl.from_arrow(database.sql(query).to_arrow_table())
        assert isinstance(expected, pl.DataFrame)
        with limits(**SIZES, broadcast_nbytes=broadcast_nbytes):
            found = fs.sql(query, **tables).to_polars()
        assert_frame_equal(as_floats(found), as_floats(expected), abs_tol=1e-6)
