"""Filters mean of numbers and times what they say, whatever the types of columns and values are."""

from __future__ import annotations

import datetime
import math
import operator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import UsageError
from freestone.io.many import as_expression, as_predicate

SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COLUMNS = {
    pa.uint64(): [0, 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1],
    pa.int64(): [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1],
    pa.uint8(): [0, 1, 255],
    pa.decimal128(10, 2): [*map(Decimal, ("-3.00", "0.00", "1.50", "2.25", "99999999.99"))],
    pa.decimal256(40, 0): [Decimal(-1), Decimal(10) ** 30],
}
VALUES = (
    st.sampled_from([-1, 0, 1, 2, 255, 256, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64, -(2**64)])
    | st.sampled_from([*map(Decimal, ("1.5", "2.255", "-0.5", "1E+30", "2.25"))])
    | st.sampled_from([np.uint64(2**63), np.int8(-1), np.uint64(2**64 - 1)])
)


def rows_of(column: Any, where: Any) -> list[Any]:
    table = pa.table({"x": column})
    found: list[Any] = table.filter(as_expression(as_predicate(where), table.schema))[
        "x"
    ].to_pylist()
    return found


@settings(deadline=None)
@given(st.sampled_from([*COLUMNS]), st.sampled_from([*SIGNS]), VALUES)
def test_numbers_are_compared_exactly(kind: Any, sign: str, value: Any) -> None:
    column = pa.array([*COLUMNS[kind], None], kind)
    exact = Fraction(int(value) if isinstance(value, np.generic) else value)
    expected = [each for each in COLUMNS[kind] if SIGNS[sign](Fraction(each), exact)]
    assert rows_of(column, [("x", sign, value)]) == expected


@settings(deadline=None)
@given(
    st.sampled_from([kind for kind in COLUMNS if pa.types.is_integer(kind)]),
    st.sampled_from([*SIGNS]),
    st.sampled_from(
        [-1.5, 0.0, 0.5, 2.0**53, 2.0**63, 2.0**64, 1e300, math.inf, -math.inf, math.nan]
    ),
)
def test_integers_are_compared_with_floats_exactly(kind: Any, sign: str, value: float) -> None:
    expected = [each for each in COLUMNS[kind] if SIGNS[sign](each, value)]
    for given_value in (value, np.float64(value)):
        assert (
            rows_of(pa.array([*COLUMNS[kind], None], kind), [("x", sign, given_value)]) == expected
        )


@settings(deadline=None)
@given(st.sampled_from([*COLUMNS]), st.lists(VALUES | st.none()))
def test_sets_have_the_values_that_they_say(kind: Any, values: list[Any]) -> None:
    column = [*COLUMNS[kind], None]
    exact = {
        Fraction(int(each) if isinstance(each, np.generic) else each)
        for each in values
        if each is not None
    }
    is_in = [(None in values) if each is None else Fraction(each) in exact for each in column]
    inside = [each for each, holds in zip(column, is_in, strict=True) if holds]
    outside = [each for each, holds in zip(column, is_in, strict=True) if not holds]
    assert rows_of(pa.array(column, kind), [("x", "in", values)]) == inside
    assert rows_of(pa.array(column, kind), [("x", "not in", values)]) == outside


@pytest.mark.parametrize("column", [["a", None], [True, None], [datetime.date(2024, 1, 1), None]])
def test_sets_without_values_choose_none(column: list[Any]) -> None:
    for values, inside in (([], []), ([None], [None])):
        assert rows_of(pa.array(column), [("x", "in", values)]) == inside
        outside = [each for each in column if each not in inside]
        assert rows_of(pa.array(column), [("x", "not in", values)]) == outside


DAYS = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[D]")
TIMES = [
    (">=", np.datetime64("2024-01-02"), 2),
    (">", np.datetime64("2024-01-02T12"), 1),
    ("<", np.datetime64("2024-01-02T00:01"), 2),
    ("<", np.datetime64("2024-01-02T00:00:00.000000001"), 2),
    ("==", np.datetime64("2024-01"), 1),
    ("<", np.datetime64("2024-01-03", "W"), 0),
    (">=", np.datetime64("NaT"), 0),
    (">=", datetime.date(2024, 1, 2), 2),
    (">=", "2024-01-02", 2),
    ("in", DAYS[:2], 2),
    ("in", [*DAYS[1:]], 2),
    ("in", ["2024-01-03", None], 1),
    ("not in", DAYS[:2], 1),
]


@pytest.mark.parametrize(("sign", "value", "count"), TIMES)
def test_times_of_numpy(sign: str, value: Any, count: int) -> None:
    for column in (pa.array(DAYS), pa.array(DAYS.astype("M8[us]"))):
        assert len(rows_of(column, [("x", sign, value)])) == count


def test_durations_of_numpy() -> None:
    column = pa.array(np.arange(5).astype("m8[D]").astype("m8[s]"))
    for value in (np.timedelta64(2, "D"), np.timedelta64(48, "h"), datetime.timedelta(days=2)):
        assert len(rows_of(column, ("x", ">=", value))) == 3


def test_in_parquet_csv_arrow_and_root_alike(tmp_path: Path) -> None:
    table = pa.table({"u": pa.array([0, 2**62, 2**63, 2**64 - 1], pa.uint64())})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    for form in ("arrow", "root", "csv"):
        fs.write(table, tmp_path / f"x.{form}")
    for form in ("parquet", "arrow", "root", "csv"):
        options = {"types": {"u": "uint64"}} if form == "csv" else {}
        for where, expected in [
            (("u", ">", -1), [0, 2**62, 2**63, 2**64 - 1]),
            (("u", ">=", 2**63), [2**63, 2**64 - 1]),
            (("u", "in", [2**63]), [2**63]),
        ]:
            found = fs.read(tmp_path / f"x.{form}", where=[where], **options)
            assert found.compute()["u"].to_pylist() == expected


def test_values_that_do_not_go_with_a_column_are_named(tmp_path: Path) -> None:
    table = pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "f": [1.0], "t": DAYS[:1]})
    pq.write_table(table, tmp_path / "x.parquet")
    for where, message in [
        (("f", "==", 2**53 + 1), r"'f' is double, .* with 9007199254740993 of type int"),
        (("t", ">", "soon"), r"'t' is date32.*'soon' of type str"),
        (("u", "in", [object()]), r"'u' is uint64.*object"),
        (("u", ">", "a"), r"'u' is uint64"),
        (("u", "in", "ab"), r"takes a list of values, not 'ab'"),
        (("u", "is", 3), r"'is' is no operator"),
        # Arrow's own expressions are asked as they are.
        (pc.field("u") > -1, r"'u' is uint64"),
    ]:
        with pytest.raises(UsageError, match=message):
            fs.read(tmp_path / "x.parquet", where=where).compute()


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
@pytest.mark.parametrize(
    ("filter", "advice"),
    [
        (("n", "==", "1"), r"'n' is int64, .*\(==\) with '1' .* numbers, .*; write 1, without"),
        (("n", "in", [1, "2"]), r"'n' is int64, .* numbers, and '2' is none; write 2, without"),
        (("n", "not in", ["2"]), r"'n' is int64, .* numbers, and '2' is none; write 2, without"),
        (("n", "<", "many"), "numbers, and 'many' is none; write a number"),
        (("n", "==", True), "numbers, and True is none; write 1"),
        (("x", ">", "1.5"), "'x' is double, .* write 1.5, without quotes"),
        (("flag", "==", 1), "'flag' is bool, .* with 1 .* booleans, .*; write True or False"),
        (("flag", "in", [0, 1]), "booleans, and 0 is none; write True or False"),
        (("flag", "==", "true"), "booleans, and 'true' is none; write True or False"),
    ],
)
def test_values_of_another_type_get_what_to_write(
    tmp_path: Path, name: str, filter: tuple[str, str, Any], advice: str
) -> None:
    table = pa.table({"n": [1, 2], "x": [1.5, 2.5], "flag": [True, False]})
    fs.write(table, tmp_path / name)
    with pytest.raises(UsageError, match=advice):
        fs.read(tmp_path / name, where=[filter]).compute()


def test_numbers_are_no_dates() -> None:
    with pytest.raises(UsageError, match=r"dates or times, and 5 is none; write .* '2024-05-01'"):
        as_expression(as_predicate(("day", "==", 5)), pa.schema({"day": pa.date32()}))
