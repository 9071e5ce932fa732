"""Many files are read in this process, and what a predicate leaves out has no row of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import uproot
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import UsageError
from freestone.io.formats import root
from freestone.io.many import as_expression, as_predicate, columns_of
from tests.io.many.years import PREDICATES, YEARS, write_years


def test_without_a_cluster_they_are_the_same(tmp_path: Path) -> None:
    write_years(tmp_path)
    assert fs.read(tmp_path).compute() == YEARS
    for where in PREDICATES:
        expected = YEARS.filter(as_expression(as_predicate(where), YEARS.schema)).select(
            ["s", "year"]
        )
        found = fs.read(tmp_path, where=where, columns=["s", "year"]).compute()
        assert found.combine_chunks() == expected


def test_a_predicate_opens_no_file_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        with uproot.recreate(tmp_path / f"{number}.root") as file:
            run = np.full(10, number, np.int32)
            file["Events"] = {"run": run, "x": np.arange(10.0), "y": np.zeros(10)}
    opened, uproot_open = [], uproot.open

    def counted(*words: Any) -> Any:
        opened.append(words)
        return uproot_open(*words)

    # As of a tree whose baskets are in its description: it is parsed for each read.
    monkeypatch.setattr(root, "places_of", lambda tree: {})
    monkeypatch.setattr(uproot, "open", counted)
    for where, rows in [([("run", "==", 1), ("y", "==", 0)], 10), ([("run", "==", 7)], 0)]:
        for columns in (None, ["x"]):
            found = fs.read(tmp_path / "1.root", columns=columns, where=where)
            assert (found.compute().num_rows, len(opened)) == (rows, 1)
            opened.clear()
            found = fs.read(tmp_path / "*.root", columns=columns, where=where)
            # Each is looked at, and read.
            assert (found.compute().num_rows, len(opened)) == (rows, 2 * 3)
            opened.clear()


VALUES = {
    "i": (pa.int32(), st.integers(-3, 3)),
    "u": (pa.uint32(), st.sampled_from([0, 1, 2**31, 2**32 - 1])),
    "f": (pa.float64(), st.sampled_from([-1.5, -0.0, 0.0, 2.0, math.nan, math.inf])),
    "s": (pa.string(), st.sampled_from(["", "a", "b", "ä", "z" * 70])),
    "t": (pa.timestamp("us", "UTC"), st.integers(-2, 2)),
    "b": (pa.bool_(), st.booleans()),
}
OPERATORS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


@st.composite
def tables(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(0, 7))
    columns = {}
    for name, (kind, values) in VALUES.items():
        items = draw(st.lists(values | st.none(), min_size=rows, max_size=rows))
        columns[name] = pa.array(items, kind)
    return pa.table(columns)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> Any:
    if depth and draw(st.booleans()):
        left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
        form = draw(st.sampled_from(["and", "or", "not"]))
        return left & right if form == "and" else left | right if form == "or" else ~left
    name = draw(st.sampled_from(sorted(VALUES)))
    kind, values = VALUES[name]
    field = pc.field(name)
    if draw(st.integers(0, 4)) == 0:
        return field.is_null() if draw(st.booleans()) else field.is_valid()
    if draw(st.integers(0, 4)) == 0:
        return field.isin(pa.array(draw(st.lists(values, min_size=1, max_size=3)), kind))
    value = pa.scalar(draw(values), kind)
    left = {
        "==": field == value,
        "!=": field != value,
        "<": field < value,
        "<=": field <= value,
        ">": field > value,
        ">=": field >= value,
    }
    return left[draw(OPERATORS)]


@settings(deadline=None, max_examples=40)
@given(tables(), expressions(), st.integers(1, 3))
def test_what_is_left_out_has_no_such_row(
    tmp_path_factory: pytest.TempPathFactory, table: Any, where: Any, group: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.parquet"
    pq.write_table(table, path, row_group_size=group)
    found = fs.read(path, where=where).compute().combine_chunks()
    # NaN is not equal to itself.
    assert str(found.to_pylist()) == str(table.filter(where).to_pylist())


def test_columns_of_an_expression_are_found_among_many() -> None:
    schema = pa.schema([(f"c{number}", pa.float64()) for number in range(300)])
    where = (pc.field("c7") > 1) | (pc.field("c299") < pc.field("c0"))
    assert columns_of(where, schema, "x") == ("c0", "c7", "c299")
    assert columns_of(pc.scalar(True), schema, "x") == ()


def test_an_expression_of_polars_is_refused_with_what_to_write() -> None:
    pl = pytest.importorskip("polars", reason="the extra 'tables' is not installed")
    with pytest.raises(UsageError, match=r"call filter\(\)"):
        as_predicate(pl.col("x") > 0)


def test_not_in_keeps_rows_without_a_value_as_it_does_in_pyarrow(tmp_path: Path) -> None:
    url = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, None, 3]}), url)
    for where, kept in (([("a", "not in", [1])], [None, 3]), ([("a", "!=", 1)], [3])):
        theirs = pq.read_table(url, filters=where)["a"].to_pylist()
        assert fs.read(url, where=where).compute()["a"].to_pylist() == theirs == kept
