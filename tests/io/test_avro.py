"""Avro: files of its own library are read, and what is written its library reads."""

from __future__ import annotations

import io
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FormatError, UsageError
from freestone.io import open_dataset
from freestone.io.formats import avro
from tests.io.fuzz.places import Bytes

fastavro = pytest.importorskip("fastavro")

NOON = datetime(2024, 2, 29, 12, 30, 1, 5000)
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "flag": (pa.bool_(), [True, None, False]),
    "small": (pa.int32(), [-(2**31), None, 2**31 - 1]),
    "large": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "single": (pa.float32(), [0.5, None, math.inf]),
    "double": (pa.float64(), [-0.1, 1e300, None]),
    "text": (pa.string(), ["", "naïve", None]),
    "raw": (pa.binary(), [b"", b"\xff\x00", None]),
    "fixed": (pa.binary(2), [b"ab", None, b"\x00\xff"]),
    "money": (pa.decimal128(9, 2), [Decimal("-12.34"), None, Decimal("0.00")]),
    "day": (pa.date32(), [date(1960, 1, 1), None, date(2024, 2, 29)]),
    "clock": (pa.time32("ms"), [time(23, 59, 59, 999000), None, time()]),
    "watch": (pa.time64("us"), [time(1, 2, 3, 4), None, time()]),
    "local": (pa.timestamp("ms"), [NOON, None, NOON]),
    "instant": (pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=UTC), None, None]),
    "list": (pa.list_(pa.timestamp("us")), [[NOON, None], [], None]),
    "map": (pa.map_(pa.string(), pa.date32()), [[("a", date(2000, 1, 1))], [], None]),
    "row": (
        pa.struct([("x", pa.int32()), ("list", pa.list_(pa.struct([("x", pa.float64())])))]),
        [{"x": 1, "list": [{"x": 0.5}, None]}, None, {"x": None, "list": []}],
    ),
    "none": (pa.null(), [None, None, None]),
}
TABLE = pa.table({name: pa.array(values, kind) for name, (kind, values) in COLUMNS.items()})


@pytest.mark.parametrize("compression", ["null", "deflate", "bzip2", "xz"])
def test_all_types_come_back_as_they_were(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "a.avro"
    fs.write(fs.Frame.from_table(TABLE, 2), path, compression=compression)
    assert open_dataset(path).arrow_schema() == TABLE.schema
    assert fs.read(path).compute().equals(TABLE)
    assert fs.read(path, columns=["row", "day"]).compute().equals(TABLE.select(["row", "day"]))


def test_its_library_reads_what_is_written(tmp_path: Path) -> None:
    fs.write(fs.Frame.from_table(TABLE, 2), tmp_path / "a.avro")
    with open(tmp_path / "a.avro", "rb") as file:
        rows = list(fastavro.reader(file))
    assert [row["local"] for row in rows] == [NOON, None, NOON]
    assert [row["money"] for row in rows] == COLUMNS["money"][1]
    assert [row["row"] for row in rows] == COLUMNS["row"][1]


VALUES = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(),
    st.none() | st.text(),
    st.none() | st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)),
)
SCHEMA = pa.schema(
    [("n", pa.int64()), ("x", pa.float64()), ("s", pa.string()), ("l", pa.list_(pa.int32()))]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, max_size=30), st.integers(0, 30), st.integers(0, 30), st.integers(1, 99))
def test_any_rows_of_any_file_of_its_library(
    rows: list[Any], start: int, stop: int, nbytes: int
) -> None:
    records = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
    kinds = ["long", "double", "string", {"type": "array", "items": ["int", "null"]}]
    fields = [
        {"name": name, "type": [kind, "null"]}
        for name, kind in zip(SCHEMA.names, kinds, strict=True)
    ]
    file = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": fields}
    fastavro.writer(file, schema, records, "deflate", sync_interval=nbytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro, "PART_NBYTES", nbytes)
        found = avro.open_dataset(Bytes("x", file.getvalue()))
    assert found.rows == len(rows)
    start, stop = min(start, stop, len(rows)), min(max(start, stop), len(rows))
    expected = pa.Table.from_pylist(records, SCHEMA).slice(start, stop - start)
    assert repr(found.read(start, stop).to_pylist()) == repr(expected.to_pylist())


def test_blocks_are_read_by_workers(two_workers: fs.Cluster, tmp_path: Path) -> None:
    table = pa.table({"n": range(3000), "s": ["text " * 40] * 3000})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro, "PART_NBYTES", 1 << 10)
        fs.write(fs.Frame.from_table(table, 1000), tmp_path / "a.avro")
        assert open_dataset(tmp_path / "a.avro").unit_rows < 1000
        frame = fs.read(tmp_path / "a.avro", block_rows=700)
        assert frame.compute().equals(table)
        kept = fs.read(tmp_path / "a.avro", columns=["n"], where=[("n", ">", 2997)])
        assert kept.compute().to_pydict() == {"n": [2998, 2999]}


def put(path: Path, schema: Any, rows: list[Any], **options: Any) -> bytes:
    """Write a file by the library, and return its bytes."""
    with open(path, "wb") as file:
        fastavro.writer(file, schema, rows, **options)
    return path.read_bytes()


def test_enums_and_names_that_are_used_twice(tmp_path: Path) -> None:
    color = {"type": "enum", "name": "color", "symbols": ["red", "blue"]}
    fields = [{"name": "a", "type": color}, {"name": "b", "type": ["null", "color"]}]
    row = {"type": "record", "name": "pair", "namespace": "n.m", "fields": fields}
    put(tmp_path / "a.avro", row, [{"a": "red", "b": "blue"}, {"a": "blue", "b": None}])
    found = fs.read(tmp_path / "a.avro").compute()
    assert found.to_pydict() == {"a": ["red", "blue"], "b": ["blue", None]}


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (["int", "string"], "column 'a': it is a union of int, string"),
        (
            {"type": "record", "name": "t", "fields": [{"name": "t", "type": ["null", "t"]}]},
            "column 'a': the record 't' contains itself",
        ),
        ({"type": "array", "items": "null"}, "column 'a': it is a list of values that take no"),
        ("null", "its records take no bytes"),
    ],
)
def test_a_schema_that_makes_no_columns(tmp_path: Path, kind: Any, problem: str) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    put(tmp_path / "a.avro", schema, [])
    with pytest.raises(FormatError, match=rf"a\.avro.*{problem}"):
        fs.read(tmp_path / "a.avro")


def test_a_file_of_values_that_are_no_records(tmp_path: Path) -> None:
    put(tmp_path / "a.avro", "int", [1])
    with pytest.raises(FormatError, match=r"a\.avro.*no records"):
        fs.read(tmp_path / "a.avro")


def test_damage_is_reported_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
    head = len(put(path, schema, [], sync_marker=b"0123456789abcdef"))
    whole = put(path, schema, [{"a": "x"}, {"a": "y"}], sync_marker=b"0123456789abcdef")
    for content, problem in [
        (whole[:-1], f"block at byte {head}.*truncated"),
        (whole[:-1] + b"!", f"block at byte {head}.*does not end with the mark"),
        (whole + b"\xff" * 12, f"no block begins at byte {len(whole)}"),
        (whole[:head] + b"\xfe" + b"\xff" * 8 + b"\1" + whole[head + 1 :], "9,223,372,036,854,"),
        (whole[:10], "header"),
        (b"", "header"),
    ]:
        path.write_bytes(content)
        with pytest.raises(FormatError, match=rf"a\.avro.*{problem}"):
            fs.read(path)
    # One record fewer than there are.
    path.write_bytes(whole[:head] + b"\x02" + whole[head + 1 :])
    with pytest.raises(FormatError, match="more than the 1 records"):
        fs.read(path).compute()


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ({"a b": [1]}, "'a b' is none; rename it"),
        ({"a": pa.array([1], pa.uint64())}, "column 'a' has type uint64.*cast it"),
        (
            {"a": pa.array([1], pa.timestamp("us", "Europe/Berlin"))},
            r"cast it to timestamp\[us, tz=UTC\]",
        ),
        ({"a": [{"b": {"c d": 1}}]}, "'c d' is none"),
    ],
)
def test_what_avro_has_no_form_for_is_refused_before_anything_is_written(
    tmp_path: Path, column: dict[str, Any], problem: str
) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(b"kept")
    with pytest.raises(UsageError, match=rf"a\.avro: .*{problem}"):
        fs.write(fs.Frame.from_table(column, 1), path)
    with pytest.raises(UsageError, match=r"a\.avro can't be written: .*[Cc]odec"):
        fs.write(fs.Frame.from_table({"a": [1]}, 1), path, compression="zip")
    assert path.read_bytes() == b"kept"


EMPTY = {
    "null": pa.array([None, None], pa.null()),
    "nulls": pa.array([[None], []], pa.list_(pa.null())),
    "fixed": pa.array([b"", None], pa.binary(0)),
    "row": pa.array([{}, None], pa.struct([])),
    "rows": pa.array([[{}], []], pa.list_(pa.struct([]))),
    "nested": pa.array([{"x": None}, None], pa.struct([("x", pa.null())])),
    "map": pa.array([[("k", None)], []], pa.map_(pa.string(), pa.null())),
}


@pytest.mark.parametrize("name", EMPTY)
def test_values_without_bytes_are_read_again(tmp_path: Path, name: str) -> None:
    table = pa.table({"a": EMPTY[name]})
    fs.write(table, tmp_path / "a.avro")
    assert fs.read(tmp_path / "a.avro").compute().equals(table)
    with (tmp_path / "a.avro").open("rb") as file:
        assert len(list(fastavro.reader(file))) == 2


@pytest.mark.parametrize(
    ("kind", "to"),
    [
        (pa.timestamp("s", "UTC"), "timestamp[ms, tz=UTC]"),
        (pa.timestamp("ns", "Europe/Berlin"), "timestamp[ns, tz=UTC]"),
        (pa.date64(), "date32[day]"),
        (pa.uint64(), "decimal128(20, 0)"),
        (pa.list_(pa.int8(), 2), "list<item: int8>"),
    ],
)
def test_a_type_that_avro_lacks_names_one_that_it_has(tmp_path: Path, kind: Any, to: str) -> None:
    table = pa.table({"when": pa.nulls(2, kind)})
    with pytest.raises(UsageError) as caught:
        fs.write(table, tmp_path / "a.avro")
    assert str(caught.value).endswith(
        f"a.avro: column 'when' has type {kind}, for which Avro has no form; cast it to {to}"
    )


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two columns are called 'a', and one would be lost"):
        fs.write(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.avro")
