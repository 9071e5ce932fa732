"""Which files a path, a pattern, a folder or a list means."""

from __future__ import annotations

import tempfile
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.errors import FileMissingError, SchemaError, UsageError
from freestone.io.many.finding import NULL_KEY, Found, find_files, is_many, keys_of, split_tree
from freestone.io.many.keys import equalities, key_types


def made(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(folder: Path, what: object, **options: str) -> list[str]:
    return [str(Path(found.url).relative_to(folder)) for found in find_files(what, **options)]


def test_a_folder_is_its_files_in_order_without_hidden_ones(tmp_path: Path) -> None:
    made(
        tmp_path, "b.csv", "a.csv", "x/c.csv", "_SUCCESS", ".a.csv.part", "_tmp/d.csv", "a.csv.meta"
    )
    made(tmp_path, "read.me")
    assert names(tmp_path, tmp_path) == ["a.csv", "b.csv", "x/c.csv"]


def test_a_pattern_reaches_into_folders(tmp_path: Path) -> None:
    made(tmp_path, "a.csv", "b.npy", "x/c.csv", "x/y/d.csv", "x/_e.csv")
    assert names(tmp_path, f"{tmp_path}/*.csv") == ["a.csv"]
    assert names(tmp_path, f"{tmp_path}/**/*.csv") == ["a.csv", "x/c.csv", "x/y/d.csv"]
    assert names(tmp_path, f"{tmp_path}/x*") == ["x/c.csv", "x/y/d.csv"]
    assert names(tmp_path, [tmp_path / "b.npy", f"{tmp_path}/*.csv"]) == ["b.npy", "a.csv"]


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    made(tmp_path, "a[1].csv", "a1.csv")
    assert names(tmp_path, f"{tmp_path}/a[1].csv") == ["a[1].csv"]
    assert not is_many(f"{tmp_path}/a[1].csv")


def test_folders_of_formats_are_files(tmp_path: Path) -> None:
    made(tmp_path, "a.zarr/zarr.json", "x/b.zarr/zarr.json")
    assert not is_many(tmp_path / "a.zarr")
    assert names(tmp_path, tmp_path) == ["a.zarr", "x/b.zarr"]


def test_a_given_format_needs_no_names(tmp_path: Path) -> None:
    made(tmp_path, "part-0", "part-1")
    assert names(tmp_path, tmp_path, format="csv") == ["part-0", "part-1"]
    with pytest.raises(FileMissingError, match=r"2 files whose names say no format \('part-0'"):
        find_files(tmp_path)


NOTHING = [
    ("*.csv", "matches no file; .* has 1 entries, such as 'a.npy'"),
    ("no/*.csv", "there is no folder .*/no"),
    ("empty", "a folder without files"),
]


@pytest.mark.parametrize(("pattern", "reason"), NOTHING)
def test_nothing_found_says_what_there_is(tmp_path: Path, pattern: str, reason: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    made(tmp_path, "full/a.npy")
    root = tmp_path if pattern == "empty" else tmp_path / "full"
    with pytest.raises(FileMissingError, match=reason):
        find_files(f"{root}/{pattern}")


def test_what_is_no_list_of_paths_is_refused(tmp_path: Path) -> None:
    made(tmp_path, "a.csv", "b.npy")
    with pytest.raises(UsageError, match=r"a list of them, not int"):
        find_files(3)
    with pytest.raises(UsageError, match=r"paths and URLs, not int"):
        find_files([3])
    with pytest.raises(FileMissingError, match="without files"):
        find_files([])
    with pytest.raises(UsageError, match=r"several formats: .*a\.csv is csv, and .*b\.npy npy"):
        find_files(tmp_path)


# -- keys in folders ------------------------------------------------------------------------------


def test_keys_are_those_below_the_folder_or_behind_the_first_sign(tmp_path: Path) -> None:
    made(tmp_path, "run=1/year=2024/a.csv", "run=1/year=2025/a.csv")
    folder = tmp_path / "run=1"
    assert [found.keys for found in find_files(folder)] == [
        (("year", "2024"),),
        (("year", "2025"),),
    ]
    assert [found.keys for found in find_files(f"{folder}/year=2024/*.csv")] == [()]
    both = find_files(f"{tmp_path}/run=*/year=2025/a.csv")
    assert [found.keys for found in both] == [(("run", "1"), ("year", "2025"))]


def test_keys_are_integers_dates_or_texts() -> None:
    def kind(*values: str | None) -> object:
        return key_types([Found("x", (("k", value),)) for value in values])["k"]

    assert kind("1", "02", None) == pa.int64()
    assert kind("2024-01-31", "2024-02-29") == pa.date32()
    assert kind("2024-02-30", "2024-02-29") == pa.string()
    assert kind("1", "a") == kind("1.5") == kind(None) == kind("9" * 19) == pa.string()


def test_files_with_other_keys_are_refused() -> None:
    files = [Found("a", (("year", "1"),)), Found("b", (("month", "1"),))]
    with pytest.raises(SchemaError, match=r"^b does not go with a: .*\['month'\].*\['year'\]"):
        key_types(files)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=9)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(WORDS, st.none() | WORDS.filter(lambda word: word != NULL_KEY)), max_size=4)
)
def test_any_keys_are_read_as_they_were_written(keys: list[tuple[str, str | None]]) -> None:
    folders = [
        f"{quote(key, safe='')}={NULL_KEY if value is None else quote(value, safe='')}"
        for key, value in keys
    ]
    assert keys_of("/".join([*folders, "a=b.csv"])) == tuple(keys)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=40))
def test_any_path_gives_keys_that_have_values(path: str) -> None:
    types = key_types([Found(path, keys := keys_of(path))]) if len(dict(keys_of(path))) else {}
    known = equalities(tuple(dict(keys).items()), types) if types else {}
    assert all((low is None) == has_missing for low, _, has_missing in known.values())


@settings(deadline=None, max_examples=50)
@given(st.text(st.sampled_from("ab/*?[].:=!-"), max_size=12))
def test_any_pattern_ends_in_files_or_a_reason(pattern: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made(Path(folder), "a.csv", "b.csv", "a=b/a.csv")
        try:
            found = find_files(f"{folder}/{pattern}")
        except (FileMissingError, UsageError):
            return
        assert found
        single = not is_many(f"{folder}/{pattern}")
        assert single or all(Path(each.url).is_file() for each in found)


# -- trees ----------------------------------------------------------------------------------------


def test_a_tree_follows_a_colon(tmp_path: Path) -> None:
    assert split_tree("a.root:Events") == ("a.root", "Events")
    assert split_tree("d/*.root:dir/Events") == ("d/*.root", "dir/Events")
    assert split_tree("root://host/a.root:Events") == ("root://host/a.root", "Events")
    assert split_tree("x.root://host/a.root") == ("x.root://host/a.root", None)
    assert split_tree("a.csv:b") == ("a.csv:b", None)
    made(tmp_path, "a.root:b")
    assert split_tree(f"{tmp_path}/a.root:b") == (f"{tmp_path}/a.root:b", None)


@settings(deadline=None, max_examples=50)
@given(st.text(st.sampled_from("a.root:/"), max_size=30))
def test_any_path_is_cut_where_its_tree_begins(text: str) -> None:
    file, tree = split_tree(text)
    assert text == (file if tree is None else f"{file}:{tree}")
    assert tree is None or (file.endswith(".root") and ":" not in tree)
