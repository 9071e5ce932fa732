"""What a Bag does with its items, here and on a cluster; blocks that are other libraries' own."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import EmptyCollectionError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
xr = pytest.importorskip("xarray")
ak = pytest.importorskip("awkward")


@pytest.fixture(scope="module", params=["here", "cluster"], autouse=True)
def where(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "here":
        yield None
        return
    with fs.Cluster(workers=2, executors=1, memory="128MiB") as cluster:
        yield cluster


class Mesh:
    """Values that know their bytes, and how they are put below each other."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Mesh:
        return Mesh(self.values[rows])

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    @staticmethod
    def concatenate(blocks: Sequence[Mesh]) -> Mesh:
        return Mesh(np.concatenate([block.values for block in blocks]))


class Listed:
    """Values whose size is what Python says."""

    def __init__(self, values: Any) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Listed:
        return Listed(self.values[rows])

    def __sizeof__(self) -> int:
        return 1000 * len(self.values)

    @staticmethod
    def concatenate(blocks: Sequence[Listed]) -> Listed:
        return Listed([value for block in blocks for value in block.values])


@pytest.mark.parametrize(("kind", "nbytes"), [(Mesh, 800), (Listed, 100_000)])
def test_blocks_of_a_class_of_the_users_own(kind: Any, nbytes: int, where: Any) -> None:
    bag = fs.Bag.from_function(100, 30, lambda start, stop: kind(range(start, stop)))
    assert list(bag.compute().values) == list(range(100))
    # A cluster counts the bytes that blocks take in its cache.
    assert where is not None or nbytes <= bag.nbytes <= nbytes * 1.1
    assert list(bag[25:35].compute().values) == list(range(25, 35))
    wholes = [fs.task(_sum_of_whole)(partition) for partition in fs.split(bag)]
    assert sum(getattr(one, "result", lambda one=one: one)() for one in wholes) == 4950
    with pytest.raises(TypeError, match="map_blocks"):
        bag.map(str).compute()


def _sum_of_whole(partition: Any) -> int:
    return int(sum(partition.materialize().values))


class Sized:
    """A value with a size, and nothing else."""

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def nbytes(self) -> int:
        return 1000


class Weighed:
    """A value whose size Python is to ask for; it can be iterated over, and is a block as it is."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __sizeof__(self) -> int:
        return 1000

    def __iter__(self) -> Iterator[int]:
        return iter([self.number])


@pytest.mark.parametrize("kind", [Sized, Weighed])
def test_what_says_its_bytes_is_a_block_and_is_put_together_by_nothing(kind: Any) -> None:
    bag = fs.Bag.from_function(5, 1, lambda start, stop: kind(start))
    assert [block.number for block in bag.iter_blocks()] == [0, 1, 2, 3, 4]
    assert bag.map_blocks(lambda block: [block.number * 2]).compute() == [0, 2, 4, 6, 8]
    assert bag[1:2].compute().number == 1
    with pytest.raises(
        TypeError, match=rf"{kind.__name__}, which nothing puts.*concatenate\(blocks"
    ):
        bag.compute()
    whole = fs.task(lambda partition: len(list(partition)))
    counts = [whole(partition) for partition in fs.split(bag)]
    assert sum(getattr(one, "result", lambda one=one: one)() for one in counts) == 5


class Uncut(Mesh):
    """Values of which no rows can be taken."""

    __getitem__ = None  # type: ignore[assignment]


def test_blocks_that_cannot_be_cut_say_so() -> None:
    bag = fs.Bag.from_function(6, 3, lambda start, stop: Uncut(range(start, stop)))
    assert len(bag.compute().values) == 6
    with pytest.raises(TypeError, match=r"rows 1:3 of a block .*Uncut.* __getitem__"):
        bag[1:5].compute()


def test_sparse_blocks_and_arrow_tables_stay_what_they_are() -> None:
    sparse, pa = pytest.importorskip("scipy.sparse"), pytest.importorskip("pyarrow")
    eye = fs.Bag.from_function(6, 2, lambda a, b: sparse.csc_array(np.eye(6)[a:b]))
    assert np.array_equal(eye.compute().toarray(), np.eye(6))
    assert np.array_equal(eye[1:4].compute().toarray(), np.eye(6)[1:4])
    tables = fs.Bag.from_function(6, 2, lambda a, b: pa.table({"n": range(a, b)}))
    assert tables.compute().column("n").to_pylist() == list(range(6))
    assert tables.to_frame().compute().column("n").to_pylist() == list(range(6))
    with pytest.raises(TypeError, match="map_blocks"):
        tables.map(str).compute()


def test_arrays_of_xarrays_without_a_dimension_get_one() -> None:
    bag = fs.Bag.from_function(3, 1, lambda start, stop: xr.DataArray(float(start)))
    assert bag.compute().values.tolist() == [0.0, 1.0, 2.0]


def test_texts_dicts_and_numbers_are_no_blocks() -> None:
    for value in ("text", {"a": 1}, 3, np.float64(1)):
        with pytest.raises(fs.errors.BlockTypeError, match="nbytes"):
            fs.Bag.from_function(1, 1, lambda start, stop, value=value: value).compute()


def test_frames_as_blocks_make_a_frame() -> None:
    for kind in (pl.DataFrame, pd.DataFrame):
        bag = fs.Bag.from_function(9, 4, lambda a, b, kind=kind: kind({"n": range(a, b), "s": "x"}))
        table = bag.to_frame().compute()
        assert table.to_pydict() == {"n": list(range(9)), "s": ["x"] * 9}


def test_map_and_filter() -> None:
    bag = fs.Bag.from_items(range(20), 6)
    offset = 3
    found = bag.map(lambda item: item + offset).filter(lambda item: item % 2)
    assert found.compute() == [item + 3 for item in range(20) if (item + 3) % 2]
    assert bag.filter(lambda item: item > 99).compute() == []
    assert bag.map(str).name == "str"


def test_fold() -> None:
    bag = fs.Bag.from_items([5, 3, 8, 1, 9, 2], 2)
    assert bag.fold(operator.add) == 28
    assert bag.fold(max, commutes=True) == 9
    count = bag.fold(lambda total, item: total + 1, operator.add, initial=0)
    assert count == 6
    words = fs.Bag.from_items("abcdefg", 2)
    assert words.fold(operator.add) == "abcdefg"
    nothing = bag.filter(lambda item: item > 10)
    with pytest.raises(EmptyCollectionError):
        nothing.fold(operator.add)
    assert nothing.fold(operator.add, initial=0) == 0
    assert bag.filter(lambda item: item == 9).fold(operator.add) == 9


@pytest.mark.parametrize("groups", [None, 1, 7])
def test_group_by(groups: int | None) -> None:
    words = [f"{number % 5}-{number}" for number in range(60)]
    bag = fs.Bag.from_items(words, 13)
    grouped = bag.group_by(lambda word: word[0], groups=groups)
    assert len(grouped.blocks) == (groups or 5)
    pairs = grouped.compute()
    assert len(pairs) == 5
    assert dict(pairs) == {str(key): [w for w in words if w[0] == str(key)] for key in range(5)}


def test_equal_keys_of_different_types_are_one_group() -> None:
    keys = [1, 1.0, True, np.int64(1), np.float32(1), (2, "a"), (np.int8(2), "a"), None, b"x"]
    bag = fs.Bag.from_items(list(enumerate(keys)), 2)
    groups = [[at for at, _ in items] for _, items in bag.group_by(lambda pair: pair[1]).compute()]
    assert sorted(groups) == [[0, 1, 2, 3, 4], [5, 6], [7], [8]]


@pytest.mark.parametrize("key", [float("nan"), frozenset({1}), object()])
def test_keys_that_differ_from_process_to_process_are_refused(key: Any) -> None:
    bag = fs.Bag.from_items([1, 2], 1)
    with pytest.raises(TypeError, match="items can't be grouped by"):
        bag.group_by(lambda item, key=key: key).compute()
    with pytest.raises(ValueError, match="1 to 256"):
        bag.group_by(abs, groups=0)


def test_to_frame() -> None:
    rows = [{"a": number, "b": str(number)} for number in range(7)]
    frame = fs.Bag.from_items(rows, 3).to_frame()
    assert isinstance(frame, fs.Frame)
    assert frame.compute().to_pylist() == rows
    numbers = fs.Bag.from_items(range(4), 3).to_frame()
    assert numbers.compute().to_pylist() == [{"value": number} for number in range(4)]


@pytest.mark.parametrize("block_items", [1, 2, 5])
def test_items_of_a_frame_may_lack_columns(block_items: int) -> None:
    rows = [{"a": 1}, {"b": "x"}, {"a": 2.5, "c": None}, 7, {"c": [1]}]
    frame = fs.Bag.from_items(rows, block_items).to_frame()
    found = frame.compute()
    assert found.column_names == ["a", "b", "c", "value"]
    assert found.column("a").to_pylist() == [1.0, None, 2.5, None, None]
    assert found.column("b").to_pylist() == [None, "x", None, None, None]
    assert found.column("c").to_pylist() == [None, None, None, None, [1]]
    assert found.column("value").to_pylist() == [None, None, None, 7, None]


def test_blocks_without_items_have_the_columns_of_the_others() -> None:
    bag = fs.Bag.from_items([{"a": 1}, {"a": 2}, {"a": 3}], 1)
    frame = bag.filter(lambda item: item["a"] > 2).to_frame()
    assert frame.columns == ("a",)
    assert frame.to_polars().to_dicts() == [{"a": 3}]


def test_items_without_a_type_in_common_are_refused() -> None:
    with pytest.raises(TypeError, match=r"do not make one frame, .*Field a .*int64 vs string"):
        fs.Bag.from_items([{"a": 1}, {"a": "x"}], 1).to_frame().compute()
    with pytest.raises(ValueError, match="2 items are dicts without keys"):
        fs.Bag.from_items([{}, {}], 2).to_frame().compute()


TABLE = {"a": list(range(10)), "b": [number / 2 for number in range(10)]}
WHOLES: dict[str, Any] = {
    "pandas": pd.DataFrame(TABLE),
    "series": pd.Series(TABLE["b"], name="b"),
    "polars": pl.DataFrame(TABLE),
    "awkward": ak.Array([[1, 2], [], [3]] * 3 + [[4]]),
    "xarray": xr.DataArray(np.arange(20.0).reshape(10, 2), dims=("x", "y")),
    "dataset": xr.Dataset({"v": (("x", "y"), np.arange(20.0).reshape(10, 2))}),
}


def cut(whole: Any, start: int, stop: int) -> Any:
    return whole.isel(x=slice(start, stop)) if hasattr(whole, "isel") else whole[start:stop]


def same(one: Any, other: Any) -> bool:
    assert type(one) is type(other)
    if isinstance(one, ak.Array):
        return bool(one.to_list() == other.to_list())
    return bool(one.identical(other) if hasattr(one, "identical") else one.equals(other))


@pytest.mark.parametrize("kind", WHOLES)
def test_blocks_of_other_libraries_stay_what_they_are(kind: str) -> None:
    whole = WHOLES[kind]
    bag = fs.Bag.from_blocks([cut(whole, 0, 4), cut(whole, 4, 5), cut(whole, 5, 10)])
    assert (len(bag), bag.offsets.tolist()) == (10, [0, 4, 5, 10])
    assert bag.nbytes > 10
    assert same(bag.compute(), whole)
    part = bag[2:7].compute()
    assert same(part, cut(whole, 2, 7))
    (partition, *others) = fs.split(bag, per=1)
    value = partition.materialize()
    made = value.result() if hasattr(value, "result") else value
    assert type(made) is type(whole)
    assert sum(each.rows for each in (partition, *others)) == 10


def test_blocks_of_two_libraries_are_refused() -> None:
    bag = fs.Bag.from_blocks([WHOLES["polars"], WHOLES["pandas"]])
    with pytest.raises(TypeError, match=r"1 is a DataFrame of pandas, .* DataFrame of polars"):
        bag.compute()


def test_items_of_columns_are_refused() -> None:
    bag = fs.Bag.from_blocks([WHOLES["pandas"]])
    with pytest.raises(TypeError, match="map_blocks"):
        bag.map(str).compute()
    counts = fs.Bag.from_blocks([WHOLES["awkward"]]).map(len)
    assert counts.compute() == [2, 0, 1] * 3 + [1]


@pytest.mark.parametrize("items", [[1, "a"], [{"value": 1}, {"value": [2]}]])
def test_values_of_one_column_without_a_common_type_are_named(items: list[Any]) -> None:
    with pytest.raises(
        TypeError,
        match=r"column 'value' has .* \((str|list)\) in item 1 .* after values of int .*bag\.map",
    ):
        fs.Bag.from_items(items, 2).to_frame().compute()


def appended(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def extended(one: list[Any], other: list[Any]) -> list[Any]:
    one.extend(other)
    return one


def emptied(block: list[Any], *_: Any) -> list[Any]:
    block.clear()
    return block


def renamed(item: dict[str, Any]) -> dict[str, Any]:
    item["name"] = "b"
    return item


@pytest.mark.parametrize("somewhere", [True, False], ids=["on a cluster", "here"])
def test_functions_may_change_what_they_are_given(
    request: pytest.FixtureRequest, somewhere: bool
) -> None:
    if somewhere:
        request.getfixturevalue("two_workers")
    whole = list(range(30))
    bag = fs.Bag.from_items(whole, 7)
    assert bag.fold(appended, extended, initial=[]) == whole
    assert bag.reduce(extended).result() == whole
    assert bag.map_blocks(emptied).compute() == []
    counted = bag.map_blocks(lambda block, seen: [len(appended(seen, block))], [])
    assert counted.compute() == [1] * 5
    bag.compute().append(99)
    next(bag.iter_blocks()).append(99)
    assert bag.compute() == whole
    named = fs.Bag.from_items([{"name": "a"} for _ in range(6)], 2)
    assert named.map(renamed).compute() == [{"name": "b"}] * 6
    named.compute()[0]["name"] = "c"
    assert named.compute() == [{"name": "a"}] * 6


def test_columns_that_lose_digits_are_named() -> None:
    bag = fs.Bag.from_items([{"a": 2**60 + 1}, {"a": 0.5}], 1)
    with pytest.raises(TypeError, match=r"'a' is of int64 in one block.*convert the values"):
        bag.to_frame().compute()


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([{"a": 1}, {"a": 2**70}], r"column 'a' has 11805.* \(int\) in item 1 of its block"),
        ([{"a": 1}, {"a": None}, {"a": "x"}], r"'x' \(str\) in item 2 .* after values of int"),
        ([{"a": "b"}, {"a": "\ud800"}], r"in item 1 of its block.*surrogates"),
        ([{"a": 1}, {7: 1}], r"item 1 of its block has the key 7 \(int\).*str\(key\)"),
        ([{"a\0": 1}], "texts without NUL"),
        ([{"a": 1}, {"a": 1j}], r"1j \(complex\) in item 1"),
    ],
)
def test_items_that_make_no_frame_are_named(items: list[Any], problem: str) -> None:
    with pytest.raises(TypeError, match=f"items do not make one frame: .*{problem}"):
        fs.Bag.from_items(items, 9).to_frame().to_arrow()


def test_times_of_numpy_make_columns() -> None:
    items = [{"d": np.datetime64("2024-01-01"), "l": np.timedelta64(3, "s")}, {"d": None}]
    table = fs.Bag.from_items(items, 2).to_frame().to_arrow()
    assert table.column("d").to_pylist() == [datetime.date(2024, 1, 1), None]
    assert table.column("l").to_pylist() == [datetime.timedelta(seconds=3), None]
