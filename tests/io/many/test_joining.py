"""What files are together: types that are joined, and those that are refused."""

from __future__ import annotations

import contextlib
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FormatError, MissingColumnError, SchemaError, UsageError
from freestone.io.many import as_expression, as_predicate
from freestone.io.many.joining import _join_types

JOINED = [
    ("int8", "int32", "int32"),
    ("uint32", "int8", "int64"),
    ("int64", "uint64", "int64"),
    ("int32", "float", "double"),
    ("int64", "double", "double"),
    ("float", "double", "double"),
    ("null", "string", "string"),
    ("string", "large_string", "large_string"),
    ("date32", "date64", "date64"),
]


@pytest.mark.parametrize(("one", "other", "expected"), JOINED)
def test_types_that_are_joined(one: str, other: str, expected: str) -> None:
    kinds = [pa.type_for_alias(name) for name in (one, other)]
    assert _join_types(*kinds) == _join_types(*kinds[::-1]) == pa.type_for_alias(expected)


def test_nested_times_decimals_and_categories_are_joined() -> None:
    ints, floats = pa.list_(pa.int32()), pa.list_(pa.float32())
    assert _join_types(ints, floats) == pa.list_(pa.float64())
    assert _join_types(pa.timestamp("us"), pa.timestamp("ns")) == pa.timestamp("ns")
    assert _join_types(pa.decimal128(5, 2), pa.decimal128(7, 3)) == pa.decimal128(7, 3)
    assert _join_types(pa.dictionary(pa.int8(), pa.string()), pa.string()) == pa.string()


REFUSED = [
    (pa.string(), pa.int64()),
    (pa.bool_(), pa.int8()),
    (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    (pa.date32(), pa.timestamp("us")),
    (pa.decimal128(5, 2), pa.float64()),
    (pa.struct([("a", pa.int8())]), pa.struct([("b", pa.int8())])),
]


@pytest.mark.parametrize(("one", "other"), REFUSED)
def test_types_that_are_refused(tmp_path: Path, one: Any, other: Any) -> None:
    assert _join_types(one, other) is None
    for name, kind in (("a", one), ("b", other)):
        pq.write_table(pa.table({"x": pa.nulls(1, kind)}), tmp_path / f"{name}.parquet")
    with pytest.raises(
        SchemaError, match=r"b\.parquet does not go with .*a\.parquet: column 'x'"
    ) as error:
        fs.read(tmp_path)
    assert error.value.column == "x"
    assert error.value.other == str(tmp_path / "a.parquet")


NUMBERS = {
    "int8": st.integers(-128, 127),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
}
COLUMNS = st.sampled_from(sorted(NUMBERS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(NUMBERS[kind] | st.none(), max_size=4))
)


@settings(deadline=None, max_examples=50)
@given(st.lists(COLUMNS, min_size=2, max_size=3))
def test_joined_numbers_are_those_of_the_files_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, columns: list[tuple[str, list[Any]]]
) -> None:
    folder = tmp_path_factory.mktemp("joined")
    for number, (kind, values) in enumerate(columns):
        table = pa.table({"x": pa.array(values, pa.type_for_alias(kind))})
        pq.write_table(table, folder / f"{number}.parquet")
    expected = [value for _, values in columns for value in values]
    whole = [abs(value) for value in expected if isinstance(value, int)]
    found = None
    # Only a large integer may have no form in the type of all.
    with contextlib.suppress(*[FormatError] if max(whole, default=0) > 2**53 else []):
        found = fs.read(folder).compute().column("x").to_pylist()
    assert found in (None, expected)


def write(folder: Path, **tables: dict[str, Any]) -> None:
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def test_columns_are_joined_by_name_in_the_order_of_the_first_file(tmp_path: Path) -> None:
    write(tmp_path, a={"x": [1], "y": ["p"]}, b={"y": ["q"], "x": [2.5]})
    found = fs.read(tmp_path).compute()
    assert found.to_pydict() == {"x": [1.0, 2.5], "y": ["p", "q"]}
    assert list(found.schema.types) == [pa.float64(), pa.string()]


def test_a_column_that_some_files_lack(tmp_path: Path) -> None:
    write(tmp_path, a={"x": [1]}, b={"x": [2], "y": [7]})
    with pytest.raises(
        SchemaError, match=r"a\.parquet does not go with .*b\.parquet: .*no column .y."
    ):
        fs.read(tmp_path)
    with pytest.raises(MissingColumnError, match=r"a\.parquet has no column .y."):
        fs.read(tmp_path, columns=["y"])
    found = fs.read(tmp_path, missing_columns="null").compute()
    assert found.to_pydict() == {"x": [1, 2], "y": [None, 7]}
    found = fs.read(tmp_path, columns=["y", "x"], missing_columns="null").compute()
    assert found.to_pydict() == {"y": [None, 7], "x": [1, 2]}
    found = fs.read(tmp_path, columns=["x"], where=[("y", ">", 3)], missing_columns="null")
    assert found.compute().to_pydict() == {"x": [2]}
    assert fs.read(tmp_path, columns=["x"]).compute().to_pydict() == {"x": [1, 2]}


def write_in_folders(folder: Path, form: str) -> None:
    for year, table in ((1, {"a": [1], "b": ["x"]}), (2, {"b": ["u"], "a": [3]})):
        (folder / f"y={year}").mkdir()
        fs.write(pa.table(table), folder / f"y={year}" / f"0.{form}")


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "orc", "csv", "jsonl", "h5"])
def test_columns_of_which_only_folders_are_asked_need_no_order(tmp_path: Path, form: str) -> None:
    write_in_folders(tmp_path, form)
    assert fs.read(tmp_path, columns=["y"]).compute().to_pydict() == {"y": [1, 2]}
    found = fs.read(tmp_path, columns=["y"], where=[("y", ">", 0)])
    assert found.compute().to_pydict() == {"y": [1, 2]}


def test_a_column_that_is_read_for_the_number_of_rows_may_be_of_any_type(tmp_path: Path) -> None:
    for year, values in ((1, [5]), (2, ["p"])):
        (tmp_path / f"y={year}").mkdir()
        write(tmp_path / f"y={year}", part={"x": values})
    assert fs.read(tmp_path, columns=["y"]).compute().to_pydict() == {"y": [1, 2]}
    with pytest.raises(SchemaError, match="column 'x' is string here, and int64 there"):
        fs.read(tmp_path, columns=["x"])


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "orc", "h5", "nc", "root"])
def test_rows_are_chosen_by_columns_in_different_orders(tmp_path: Path, form: str) -> None:
    table = pa.table({"a": [1.0, 2.0], "b": [10.0, 20.0], "c": [100.0, 200.0]})
    fs.write(table, tmp_path / f"0.{form}")
    fs.write(table.select(["c", "b", "a"]), tmp_path / f"1.{form}")
    for where, rows in [
        ([("a", ">", 1), ("b", "==", 20)], [1]),
        ([("b", "<", 20), ("a", "<", 2)], [0]),
        ([("c", ">", 900), ("b", ">", 0)], []),
        ([[("c", "==", 100)], [("a", "==", 2)]], [0, 1]),
    ]:
        expected = pa.concat_tables([table.take(rows)] * 2) if rows else table.slice(2)
        found = fs.read(tmp_path / f"*.{form}", where=where)
        assert found.compute().to_pydict() == expected.to_pydict()
        found = fs.read(tmp_path / f"*.{form}", where=where, columns=["c"])
        assert found.compute().to_pydict() == expected.select(["c"]).to_pydict()


def test_a_column_that_is_nowhere(tmp_path: Path) -> None:
    write(tmp_path, a={"mass": [1]}, b={"mass": [2]})
    for fills in ("raise", "null"):
        with pytest.raises(
            MissingColumnError, match=r"no column .mas..*did you mean 'mass'"
        ) as error:
            fs.read(tmp_path, columns=["mas"], missing_columns=fills)
        assert isinstance(error.value, KeyError)
        assert error.value.columns == ("mass",)
        with pytest.raises(MissingColumnError, match=r"no column .mas., which where= asks for"):
            fs.read(tmp_path, where=[("mas", ">", 3)], missing_columns=fills)


def test_what_is_no_list_of_columns_is_refused(tmp_path: Path) -> None:
    write(tmp_path, a={"x": [1]})
    for columns in ("x", [], [3], ["x", "x"]):
        with pytest.raises(UsageError, match="columns="):
            fs.read(tmp_path, columns=columns)
    with pytest.raises(UsageError, match="missing_columns='fill'"):
        fs.read(tmp_path, missing_columns="fill")


def test_a_column_of_the_file_and_of_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    write(tmp_path / "year=2024", a={"year": [2024]})
    with pytest.raises(FormatError, match=r"has a column 'year', and lies in a folder year=2024"):
        fs.read(tmp_path)


def test_arrays_are_joined_by_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype="i4").reshape(2, 3))
    np.save(tmp_path / "b.npy", np.full((1, 3), 0.5))
    found = fs.read(tmp_path).compute()
    assert found.dtype == np.float64
    assert found.tolist() == [[0, 1, 2], [3, 4, 5], [0.5, 0.5, 0.5]]


ARRAYS = [
    (np.zeros((2, 3)), np.zeros((2, 4))),
    (np.zeros((2, 3)), np.zeros(2)),
    (np.zeros(2), np.zeros(2, bool)),
    (np.zeros(2), np.zeros(2, "U3")),
]


@pytest.mark.parametrize(("one", "other"), ARRAYS)
def test_arrays_that_do_not_go_together(tmp_path: Path, one: Any, other: Any) -> None:
    np.save(tmp_path / "a.npy", one)
    np.save(tmp_path / "b.npy", other)
    with pytest.raises(SchemaError, match=r"b\.npy does not go with .*a\.npy: its rows are"):
        fs.read(tmp_path)


def test_an_integer_that_the_joint_dtype_can_not_hold_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([2**53 + 1]))
    np.save(tmp_path / "b.npy", np.array([0.5]))
    with pytest.raises(
        FormatError, match=r"a\.npy .*holds them exactly up to 9,007,199,254,740,992"
    ):
        fs.read(tmp_path)


def test_arrays_have_no_columns_to_ask_for(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(2))
    for asked in ({"columns": ["x"]}, {"where": [("x", ">", 1)]}):
        with pytest.raises(UsageError, match="holds an array, which has no names"):
            fs.read(tmp_path, **asked)


def test_an_array_and_a_frame_do_not_go_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("x,y\n3,4\n")
    with pytest.raises(SchemaError, match=r"b\.csv does not go with .*a\.csv: it holds a frame"):
        fs.read(tmp_path)


def test_decimals_keep_their_values(tmp_path: Path) -> None:
    write(
        tmp_path,
        a={"x": pa.array([Decimal("1.25")], pa.decimal128(5, 2))},
        b={"x": pa.array([Decimal("1.125")], pa.decimal128(7, 3))},
    )
    assert fs.read(tmp_path).compute()["x"].to_pylist() == [Decimal("1.25"), Decimal("1.125")]


def test_columns_of_text_without_values_have_the_type_of_others(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x,y,z\n1,,\n")
    (tmp_path / "2.csv").write_text("x,y,z\n")
    (tmp_path / "3.csv").write_text("x,y,z\n2,0.5,\n")
    found = fs.read(tmp_path, header=True).compute()
    assert found.to_pydict() == {"x": [1, 2], "y": [None, 0.5], "z": [None, None]}
    assert found.schema.types == [pa.int64(), pa.float64(), pa.large_string()]
    chosen = fs.read(tmp_path, header=True, where=[("y", ">", 0)], columns=["x"])
    assert chosen.compute().to_pydict() == {"x": [2]}
    typed = fs.read(tmp_path, header=True, types={"y": "str"}).compute()
    assert typed["y"].to_pylist() == [None, "0.5"]


def test_columns_without_values_beside_options_have_the_type_of_others(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("n,day\nNA,\n")
    (tmp_path / "2.csv").write_text("n,day\n5,2020-01-01\n")
    options = {"header": True, "missing": "NA", "dates": ["day"]}
    found = fs.read(tmp_path, **options).compute()
    assert found.to_pydict() == {"n": [None, 5], "day": [None, dt.date(2020, 1, 1)]}
    # In none of the files is a value.
    (tmp_path / "2.csv").write_text("n,day\nNA,\n")
    alone = fs.read(tmp_path / "1.csv", **options).compute()
    assert fs.read(tmp_path, **options).compute().schema == alone.schema


def test_a_file_without_a_line_goes_with_all(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x,y\n1,2\n")
    (tmp_path / "2.csv").write_text("")
    found = fs.read(tmp_path, kind="frame", types={"x": "i8"}).compute()
    assert found.to_pydict() == {"x": [1], "y": [2]}


def test_json_lines_without_rows_go_with_all(tmp_path: Path, cluster: fs.Cluster) -> None:
    table = pl.DataFrame({"a": [1, 2], "s": ["x", "y"]})
    for number, rows in enumerate([0, 2, 0]):
        fs.write(table.head(rows), tmp_path / f"{number}.jsonl")
    files = str(tmp_path / "*.jsonl")
    assert fs.read(files).to_polars().equals(table)
    assert fs.read(files, where=[("a", ">", 1)]).to_polars().equals(table.tail(1))
    assert fs.read(files, columns=["s"]).to_polars().equals(table.select("s"))
    assert fs.read(files).filter(pl.col("a") > 1).to_polars().equals(table.tail(1))
    with pytest.raises(MissingColumnError, match=r'0\.jsonl has no column "z".*there are \'a\''):
        fs.read(files, columns=["z"])
    with pytest.raises(MissingColumnError, match="there are 'a'"):
        fs.read([tmp_path / "0.jsonl", tmp_path / "2.jsonl"], columns=["z"])
    # Nothing says which columns those of others have.
    for number in (0, 2):
        (tmp_path / f"{number}.jsonl.meta").unlink()
    with pytest.raises(MissingColumnError, match=r'1\.jsonl has no column "z".*there are \'a\''):
        fs.read(files, columns=["z"])
    with pytest.raises(MissingColumnError, match="there are none"):
        fs.read([tmp_path / "0.jsonl", tmp_path / "2.jsonl"], columns=["z"])


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_workers_read_what_folders_say_alone(
    tmp_path: Path, cluster: fs.Cluster, form: str
) -> None:
    write_in_folders(tmp_path, form)
    for columns in (None, ["y"]):
        found = fs.read(tmp_path, columns=columns)
        assert found.select("y").to_polars()["y"].to_list() == [1, 2]
        counts = found.group_by("y").agg(pl.len()).sort("y").to_polars()
        assert counts.rows() == [(1, 1), (2, 1)]
        assert found.filter(pl.col("y") > 1).select("y").to_polars().rows() == [(2,)]


def test_json_that_is_no_lines_is_named(tmp_path: Path) -> None:
    (tmp_path / "array.jsonl").write_text('[{"a": 1}]\n')
    with pytest.raises(FormatError, match=r"row 1 begins with '\['.*polars\.read_json"):
        fs.read(tmp_path / "array.jsonl")
    (tmp_path / "late.jsonl").write_text('{"a": 1}\n' * 5 + '{"a": "text"}\n')
    with pytest.raises(FormatError, match="from number to string in row 6"):
        fs.read(tmp_path / "late.jsonl")


def write_two_years(folder: Path, form: str, old: Any, new: Any) -> None:
    for year, table in ((2023, old), (2024, new)):
        (folder / f"year={year}").mkdir()
        fs.write(pa.table(table), folder / f"year={year}" / f"0.{form}")


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(
    "old", [{"x": ["a"], "y": [1]}, {"x": [0.5], "y": [1]}, {"z": [1]}, {"y": [1], "x": [3]}]
)
def test_files_that_folders_exclude_have_no_part_in_the_schema(
    tmp_path: Path, form: str, old: Any
) -> None:
    write_two_years(tmp_path, form, old, {"x": [5, 7], "y": [1, 2]})
    alone = fs.read(tmp_path / "year=2024").compute()
    alone = alone.append_column("year", pa.array([2024, 2024]))
    wheres = [
        [("year", "==", 2024)],
        [("year", ">", 2023), ("x", ">", 5)],
        [[("year", "==", 2024), ("x", ">", 5)], [("year", "in", [2024]), ("y", "<", 3)]],
        pc.field("year") == 2024,
    ]
    # What an expression means of its other columns the first file says.
    wheres += [(pc.field("year") == 2024) & (pc.field("y") > 1)] if "y" in old else []
    for where in wheres:
        found = fs.read(tmp_path, where=where).compute()
        assert found == alone.filter(as_expression(as_predicate(where), alone.schema))
    # Where none is left, one of them says which columns there are.
    assert not fs.read(tmp_path, where=[("year", "==", 1999)]).compute().num_rows


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_columns_that_nobody_asks_for_may_be_of_any_type(tmp_path: Path, form: str) -> None:
    tables = [{"x": [1], "y": ["a"]}, {"x": [2], "y": [0.5], "z": [3]}]
    for number, table in enumerate(tables):
        fs.write(pa.table(table), tmp_path / f"{number}.{form}")
    for options in ({}, {"where": [("x", ">", 0)]}, {"where": pc.field("x") > 0}):
        for missing in ("raise", "null"):
            found = fs.read(tmp_path, columns=["x"], missing_columns=missing, **options)
            assert found.compute().to_pydict() == {"x": [1, 2]}
        found = fs.read(tmp_path, columns=["z", "x"], missing_columns="null", **options)
        assert found.compute().to_pydict() == {"z": [None, 3], "x": [1, 2]}
    with pytest.raises(SchemaError, match="column 'y' is"):
        fs.read(tmp_path, columns=["x"], where=[("y", "==", "a")], missing_columns="null")


@pytest.mark.parametrize("dates", [True, ["day"]])
def test_dates_of_a_file_without_values_have_the_type_of_others(tmp_path: Path, dates: Any) -> None:
    for number, days in enumerate([[None], [], [dt.date(2024, 1, 2)]]):
        texts = ["x" if day else None for day in days]
        table = pa.table({"day": pa.array(days, pa.date32()), "s": pa.array(texts, pa.string())})
        fs.write(table, tmp_path / f"{number}.csv")
    found = fs.read(tmp_path, dates=dates).compute()
    assert found["day"].to_pylist() == [None, dt.date(2024, 1, 2)]
    assert found["s"].to_pylist() == [None, "x"]
