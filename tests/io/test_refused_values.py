"""Values and types that a format would change without a word, or that broke its library."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import BlockTypeError, FormatError, UsageError

LARGE = [2**64 - 1]
UNSIGNED: dict[str, Any] = {
    "list": pa.array([LARGE], pa.list_(pa.uint64())),
    "fixed": pa.array([LARGE], pa.list_(pa.uint64(), 1)),
    "struct": pa.array(
        [{"a": None, "b": LARGE}], pa.struct({"a": "u1", "b": pa.list_(pa.uint64())})
    ),
    "dictionary": pa.array(LARGE, pa.uint64()).dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays([1], pa.array(LARGE, pa.uint64())),
}
UNION = pa.UnionArray.from_dense(
    pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
)
TWICE = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])


def frame(values: Any) -> fs.Frame:
    return fs.Frame.from_arrow(pa.table({"c": values}), name="m")


@pytest.mark.parametrize("name", UNSIGNED)
def test_json_has_no_large_unsigned_numbers_inside_others(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="column 'c' has 18446744073709551615, which is read as"):
        fs.write(frame(UNSIGNED[name]), tmp_path / "x.jsonl")
    kept = pa.array([{"a": [2**63 - 1]}], pa.struct({"a": pa.list_(pa.uint64())}))
    fs.write(frame(kept), tmp_path / "x.jsonl")
    assert fs.read(tmp_path / "x.jsonl").compute().to_pylist() == [{"c": {"a": [2**63 - 1]}}]


ROUNDED = {
    "unsigned": ('{"c": 18446744073709551615}\n', 0),
    "beside a fraction": ('{"c": 0.5}\n\n{"c": 9007199254740993}\n', 1),
    "negative": ('{"c": 0.5}\n{"c": -9007199254740993}\n', 1),
    "in a list": ('{"c": [0.5, 9007199254740993]}\n', 0),
    "in a record": ('{"c": {"a": [0.5]}}\n{"c": {"a": [9007199254740993]}}\n', 1),
    "beyond float64": ('{"c": 1' + "2" * 40 + "}\n", 0),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_whole_numbers_of_json_are_not_rounded(name: str, tmp_path: Path) -> None:
    text, row = ROUNDED[name]
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(
        FormatError, match=rf"row {row + 1}: column 'c' has -?\d+, .*float64.*as texts"
    ):
        fs.read(tmp_path / "x.jsonl").compute()


def test_whole_numbers_of_json_that_fit_are_read(tmp_path: Path) -> None:
    rows = '{"c": 9007199254740992, "d": 9007199254740993, "e": "9007199254740993"}\n'
    (tmp_path / "x.jsonl").write_text(rows + '{"c": 1e300, "d": 1}\n{"c": 18446744073709551616}\n')
    found = fs.read(tmp_path / "x.jsonl").compute().to_pydict()
    assert found["c"] == [2.0**53, 1e300, 2.0**64]
    assert found["d"] == [2**53 + 1, 1, None]


def test_parts_of_a_file_of_json_are_not_rounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first part alone has int64, and all of the file float64.
    monkeypatch.setattr("freestone.io.formats.jsonl.PART_NBYTES", 24)
    (tmp_path / "x.jsonl").write_text('{"c": 9007199254740993}\n{"c": 0.5}\n')
    with pytest.raises(FormatError, match="row 1: column 'c' has 9007199254740993"):
        fs.read(tmp_path / "x.jsonl").compute()


@pytest.mark.parametrize("suffix", ["avro", "jsonl"])
@pytest.mark.parametrize("values", [UNION, pa.ListArray.from_arrays([0, 2], UNION)])
def test_unions_are_refused_by_the_name_of_the_column(
    suffix: str, values: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"column 'c' has type dense_union.* no form"):
        fs.write(frame(values), tmp_path / f"x.{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", [TWICE, pa.ListArray.from_arrays([0, 1], TWICE)])
def test_json_has_no_two_fields_of_one_name(values: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"column 'c' has two fields called 'a'.*rename one"):
        fs.write(frame(values), tmp_path / "x.jsonl")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "orc", "avro", "jsonl"])
def test_a_first_block_without_values_has_the_type_of_the_others(
    suffix: str, tmp_path: Path
) -> None:
    blocks = [pa.table({"c": pa.nulls(2), "d": [1, 2]}), pa.table({"c": ["a"], "d": [3]})]
    path = tmp_path / f"x.{suffix}"
    fs.write(fs.Frame.from_blocks(blocks), path)
    assert fs.read(path).compute().to_pydict() == {"c": [None, None, "a"], "d": [1, 2, 3]}


def test_mixed_types_are_refused_before_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    fs.write(frame([1]), path)
    mixed = fs.Frame.from_blocks([pa.table({"c": [1]}), pa.table({"c": [0.5]})], name="m")
    with pytest.raises(BlockTypeError, match="block 1 of 'm'"):
        fs.write(mixed, path)
    assert fs.read(path).compute().to_pydict() == {"c": [1]}


def test_categories_that_differ_say_where_they_can_go(tmp_path: Path) -> None:
    blocks = [pa.table({"c": pa.array([one]).dictionary_encode()}) for one in "ab"]
    with pytest.raises(UsageError, match=r"x\.arrow can't.*\.arrows or \.parquet, or cast 'c' to"):
        fs.write(fs.Frame.from_blocks(blocks), tmp_path / "x.arrow")
    for suffix in ("arrows", "parquet"):
        fs.write(fs.Frame.from_blocks(blocks), tmp_path / f"x.{suffix}")
        found = fs.read(tmp_path / f"x.{suffix}").compute()["c"].to_pylist()
        assert found == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([datetime(1500, 1, 1)], "read in nanoseconds, from 1677 to 2262"),
        ([timedelta(days=1)], r"of duration\[us\], for which ORC has no form"),
        ([None], "of null, for which ORC has no form"),
    ],
)
def test_orc_says_which_column_it_has_no_form_for(
    values: list[Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"column 't' .*{reason}.*write parquet"):
        fs.write(pa.table({"n": [1], "t": values}), tmp_path / "t.orc")
    assert not list(tmp_path.iterdir())


def test_orc_has_categories_as_texts(tmp_path: Path) -> None:
    fs.write(pa.table({"c": pa.array(["a", "b", "a"]).dictionary_encode()}), tmp_path / "c.orc")
    assert fs.read(tmp_path / "c.orc").compute().to_pydict() == {"c": ["a", "b", "a"]}
