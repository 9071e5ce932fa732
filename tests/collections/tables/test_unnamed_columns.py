"""Columns with an empty name, as pandas writes the index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import QueryError
from tests.collections.tables.drawing import CUT, MOVED, limits

TABLE = pl.DataFrame({"a": [1, 2, 1, 2], "": [0, 1, 2, 3], "b": ["x", "y", "z", "x"]})
OTHER = pl.DataFrame({"": [0, 2, 5], "c": [1.0, 2.0, 3.0]})
STEPS: dict[str, Callable[[pl.LazyFrame, pl.LazyFrame], pl.LazyFrame]] = {
    "filter": lambda x, _: x.filter(pl.col("") > 1),
    "filter by another": lambda x, _: x.filter(pl.col("a") > 1),
    "select": lambda x, _: x.select(pl.col("") + 1, "a"),
    "sort": lambda x, _: x.sort("", descending=True),
    "group by it": lambda x, _: x.group_by("").agg(pl.col("a").sum()).sort(""),
    "group by another": lambda x, _: x.group_by("a").agg(pl.col("").sum()).sort("a"),
    "join on it": lambda x, other: x.join(other, on="").sort(""),
    "join on another": lambda x, _: x.join(x, on="a").sort("", "_right"),
    "unique": lambda x, _: x.unique("").sort(""),
    "rename": lambda x, _: x.rename({"": "row"}),
    "all rows": lambda x, _: x.with_columns(pl.col("").cum_sum()),
}


@pytest.mark.parametrize("step", STEPS)
def test_steps_keep_an_empty_name(two_workers: fs.Cluster, step: str) -> None:
    expected = STEPS[step](TABLE.lazy(), OTHER.lazy()).collect()
    for sizes in (CUT, MOVED):
        with limits(**sizes):
            frame, other = fs.Frame.from_polars(TABLE, 2), fs.Frame.from_polars(OTHER, 2)
            found = STEPS[step](frame, other).to_polars()  # type: ignore[arg-type, attr-defined]
        assert found.equals(expected), (step, sizes)


def test_sql_calls_it_after_its_place(two_workers: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE, 2)
    found = fs.sql("select a, sum(column_1)::bigint s from t group by a order by a", t=frame)
    assert found.to_polars().rows() == [(1, 2), (2, 4)]
    assert fs.sql("select * from t", t=frame).columns == ("a", "column_1", "b")
    with pytest.raises(QueryError, match="is called column_0, after its place"):
        fs.sql('select "" from t', t=frame)
    taken = fs.Frame.from_polars(TABLE.rename({"a": "column_1"}))
    assert fs.sql("select * from t", t=taken).columns == ("column_1", "column_1_", "b")
    assert taken.to_polars().columns == ["column_1", "", "b"]


def test_every_door_keeps_it(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv(tmp_path / "p.csv")
    assert fs.read(tmp_path / "p.csv").filter(pl.col("") > 0).to_polars().rows() == [(1, 2, "y")]
    here = pd.DataFrame({"": [0, 1], "a": [1, 2]})
    frames = [fs.Frame.from_pandas(here), fs.Frame.from_arrow(pa.table(here))]
    for name in ("t.parquet", "t.arrow", "t.csv", "t.orc"):
        fs.write(frames[0], tmp_path / name)
        frames.append(fs.read(tmp_path / name, where=[("", ">=", 0)]))
    for frame in frames:
        assert frame.to_polars().equals(pl.from_pandas(here))
        assert frame.to_pandas().equals(here)


def test_names_of_columns_behind_trailing_commas(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,,\n1,2,,\n3,4,,\n")
    found = fs.read(tmp_path / "t.csv").to_polars()
    assert found.columns == ["a", "b", "col_2", "col_3"]
    assert found.select("a", "b").rows() == [(1, 2), (3, 4)]
