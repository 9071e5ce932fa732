"""Many files are read as one table, here and by workers, and no more of them than is wanted."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import freestone as fs
from freestone.errors import FileChangedError, MissingColumnError, UsageError
from freestone.io.many import (
    Request,
    as_expression,
    as_predicate,
    columns_of,
    cut_into_blocks,
    describe,
    find_files,
    join_parts,
)
from tests.io.many.years import EVENTS, PREDICATES, YEARS, write_years


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_years(tmp_path)
    return tmp_path


def test_a_folder_is_one_table(folder: Path) -> None:
    assert fs.read(folder).compute().combine_chunks() == YEARS


def test_workers_read_it(two_workers: fs.Cluster, folder: Path) -> None:
    found = fs.read(folder)
    assert len(found) == 40
    assert found.compute().combine_chunks() == YEARS
    found = fs.read(folder, block_rows=7)
    assert [block.num_rows for block in found.iter_blocks()] == [7, 7, 7, 7, 7, 5]
    assert found.compute().combine_chunks() == YEARS


def test_small_files_make_a_block_together(two_workers: fs.Cluster, folder: Path) -> None:
    assert [block.num_rows for block in fs.read(folder).iter_blocks()] == [20, 20]
    one = fs.read([*folder.rglob("*.parquet")][:1])
    assert [block.num_rows for block in one.iter_blocks()] == [4, 4, 2]


@pytest.mark.parametrize("where", PREDICATES)
@pytest.mark.parametrize("columns", [None, ["year", "s"], ["x"]])
def test_rows_are_those_that_arrow_takes(
    two_workers: fs.Cluster, folder: Path, where: Any, columns: list[str] | None
) -> None:
    wanted = YEARS.filter(as_expression(as_predicate(where), YEARS.schema))
    expected = wanted.select(columns or YEARS.column_names)
    assert fs.read(folder, where=where, columns=columns).compute().combine_chunks() == expected


def ranges(folder: Path, *where: Any) -> list[tuple[tuple[int, int], ...]]:
    schema = pq.read_schema(next(folder.rglob("*.parquet")))
    expression = as_expression(as_predicate(list(where)), schema)
    tested = columns_of(expression, schema, "x")
    request = Request(where=expression, tested=tested)
    files = [found.url for found in find_files(folder)]
    return [part.ranges for part in describe(find_files(files), request)]


def test_row_groups_that_have_no_such_row_are_left_out(folder: Path) -> None:
    assert ranges(folder, ("x", ">", 25)) == [(), (), ((4, 10),), ((0, 10),)]
    assert ranges(folder, ("x", "==", 13)) == [(), ((0, 4),), (), ()]
    assert ranges(folder, ("x", ">", 2), ("x", "<", 9)) == [((0, 10),), (), (), ()]
    assert ranges(folder, ("x", "in", [5.0, 36.0])) == [((4, 8),), (), (), ((4, 8),)]
    assert ranges(folder, ("s", "==", "9")) == [(), (), (), ()]


def test_row_groups_that_are_left_out_are_not_read(folder: Path) -> None:
    path = folder / "year=2024" / "2.parquet"
    footer = pq.ParquetFile(path).metadata
    first = footer.row_group(0).column(0)
    with damaged(path, first.dictionary_page_offset or first.data_page_offset):
        assert fs.read(path, where=[("x", ">", 23.5)]).compute()["x"].to_pylist() == list(
            range(24, 30)
        )
        with pytest.raises(fs.errors.FormatError):
            fs.read(path).compute()


@contextmanager
def damaged(path: Path, offset: int) -> Iterator[None]:
    content = path.read_bytes()
    path.write_bytes(content[:offset] + b"\xff" * 8 + content[offset + 8 :])
    yield


def test_folders_that_are_left_out_are_not_opened(two_workers: fs.Cluster, folder: Path) -> None:
    (folder / "year=2023" / "1.parquet").write_text("no Parquet")
    found = fs.read(folder, where=[("year", "==", 2024)]).compute()
    assert found["x"].to_pylist() == list(range(20, 40))
    with pytest.raises(fs.errors.FormatError, match=r"1\.parquet"):
        fs.read(folder, where=[("year", "==", 2023)]).compute()


def test_no_row_at_all_is_a_table_of_the_right_columns(
    two_workers: fs.Cluster, folder: Path
) -> None:
    for where in ([("year", "==", 1999)], [("x", ">", 99)]):
        found = fs.read(folder, where=where, columns=["x", "year"])
        assert found.compute().schema == pa.schema([("x", pa.float64()), ("year", pa.int64())])
        assert len(found) == 0


def test_keys_alone_and_missing_ones(tmp_path: Path) -> None:
    for value in ("2024-01-31", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"day={value}").mkdir()
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / f"day={value}" / "a.parquet")
    day = datetime.date(2024, 1, 31)
    found = fs.read(tmp_path, columns=["day"]).compute()
    assert found["day"].to_pylist() == [day, day, None, None]
    found = fs.read(tmp_path, where=pc.field("day").is_null()).compute()
    assert found.to_pydict() == {"x": [1, 2], "day": [None, None]}


PREDICATE_MISTAKES = [
    ([("x", "~", 3)], UsageError, "no predicate .*write "),
    ([("x", ">")], UsageError, "no predicate .*write "),
    (3, UsageError, "no predicate .*write "),
    ([("s", ">", 3)], UsageError, r"'s' is .*string.*\(>\).*texts, and 3 is none; put it in"),
    ([("s", "in", ["a", 3])], UsageError, "'s' is .*string.*texts, and 3 is none"),
    ([("y", ">", 3)], MissingColumnError, "no column .y., which where= asks for"),
]


@pytest.mark.parametrize(("where", "kind", "reason"), PREDICATE_MISTAKES)
def test_what_is_no_predicate_is_refused(
    folder: Path, where: Any, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        fs.read(folder, where=where)


def test_a_misspelt_option_of_all_formats_is_recognised(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no option 'colums' .*; did you mean 'columns'\?"):
        fs.read(folder, colums=["x"])


def test_a_file_that_changes_in_between_is_refused(folder: Path) -> None:
    request = Request()
    parts = describe(find_files([*sorted(folder.rglob("*.parquet"))]), request)
    joined, blocks = join_parts(parts, request), cut_into_blocks(parts, nbytes=1 << 20)
    pieces = [piece for block in blocks for piece in block.pieces]
    assert joined.read(pieces).num_rows == 40
    path = folder / "year=2024" / "3.parquet"
    pq.write_table(EVENTS.slice(0, 3), path)
    with pytest.raises(FileChangedError, match=r"3\.parquet"):
        joined.read(pieces)


def test_arrow_files(two_workers: fs.Cluster, tmp_path: Path) -> None:
    for number in range(3):
        rows = EVENTS.slice(10 * number, 10)
        (tmp_path / f"k={number}").mkdir()
        fs.write(fs.Frame.from_table(rows, 4), tmp_path / f"k={number}" / "a.arrow")
    found = fs.read(tmp_path, columns=["n", "k", "x"], where=[("x", ">", 7), ("x", "<", 13)])
    expected = EVENTS.slice(8, 5).select(["n", "x"])
    table = found.compute().combine_chunks()
    assert table.select(["n", "x"]) == expected
    assert table["k"].to_pylist() == [0, 0, 1, 1, 1]
    assert (
        fs.read(tmp_path, columns=["k"]).compute()["k"].to_pylist()
        == [0] * 10 + [1] * 10 + [2] * 10
    )


def test_files_of_text(two_workers: fs.Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,s\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("x,s\n0.5,c\n")
    found = fs.read(tmp_path, columns=["s", "x"], where=[("x", "<", 2)])
    assert found.compute().to_pydict() == {"s": ["a", "c"], "x": [1.0, 0.5]}


def _footers_below(folder: str) -> list[str]:
    from freestone.io.formats.parquet import _FOOTERS

    return [url for url, *_ in _FOOTERS._values if url.startswith(folder)]


def test_a_footer_is_read_by_the_worker_that_reads_the_rows_and_no_other(
    two_workers: fs.Cluster, tmp_path: Path
) -> None:
    for number in range(32):
        pq.write_table(pa.table({"x": [float(number)] * 64}), tmp_path / f"{number:02}.parquet")
    frame = fs.read(tmp_path, columns=["x"], progress=False).persist()
    assert len(frame) == 32 * 64
    kept = two_workers.run(_footers_below, str(tmp_path))
    assert [len(urls) for urls in kept.values()] == [16, 16]
    assert len({*itertools.chain.from_iterable(kept.values())}) == 32


def test_a_kept_result_is_not_that_of_a_file_whose_time_was_set_back(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    def total(table: Any) -> int:
        return sum(table["x"].to_pylist())

    def kept() -> int:
        block = fs.read(path, block_rows=2).blocks[0]
        return cluster.submit(total, block, keep="session").result()

    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    before = path.stat()
    assert kept() == kept() == 3
    path.write_text("x,y\n5,a\n6,b\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kept() == 11
