"""Bad input gets an error that names collection, block and shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import freestone as fs
from freestone.collections.hints import INSTEAD
from freestone.errors import (
    BlockingError,
    BlockShapeError,
    BlockTypeError,
    ClosedError,
    DroppedError,
    EmptyCollectionError,
    UsageError,
)


def test_object_arrays(cluster: fs.Cluster) -> None:
    with pytest.raises(BlockTypeError, match=r"block 0 of 'mixed' is .*dtype object"):
        fs.Array.from_numpy(np.array([1, "a", None], object), 2, name="mixed")
    bad = fs.Array.from_function(4, 2, lambda a, b: np.array([None] * (b - a)), name="mixed")
    with pytest.raises(BlockTypeError, match="dtype object"):
        bad.persist()


def test_blocks_of_the_wrong_shape(cluster: fs.Cluster) -> None:
    short = fs.Array.from_function((10, 2), 5, lambda a, b: np.zeros((3, 2)), name="short")
    with pytest.raises(BlockShapeError, match="block 0 of 'short' should be of 5 rows and is of 3"):
        short.persist()
    narrow = fs.Array.from_function((10, 2), 5, lambda a, b: np.zeros((5, 1)), name="narrow")
    with pytest.raises(BlockShapeError, match=r"should be of shape \(n, 2\) and is .*\(5, 1\)"):
        narrow.persist()
    with pytest.raises(BlockShapeError, match="one dimension or more"):
        fs.Array.from_blocks([np.float64(1)])
    with pytest.raises(BlockShapeError, match="block 1 of 'ragged' should be like block 0"):
        fs.Array.from_blocks([np.zeros((2, 3)), np.zeros((2, 4))], name="ragged")
    futures = [cluster.put(np.zeros((2, 3))), cluster.put(np.zeros((2, 4)))]
    ragged = fs.Array.from_futures(futures, name="ragged")
    with pytest.raises(BlockShapeError, match="block 1 of 'ragged' should be like block 0"):
        _ = ragged.nbytes, ragged._described()


def test_a_block_that_raises_is_named(cluster: fs.Cluster) -> None:
    def fails(start: int, stop: int) -> np.ndarray:
        if start == 4:
            raise ArithmeticError("no such block")
        return np.zeros(stop - start)

    x = fs.Array.from_function(10, 2, fails, name="points")
    with pytest.raises(ArithmeticError, match="no such block") as caught:
        x.compute()
    assert any("block 2 of 'points', rows 4:6" in note for note in caught.value.__notes__)
    with pytest.raises(ArithmeticError, match="no such block") as split:
        fs.split(x)
    assert any("block 2 of 'points', rows 4:6" in note for note in split.value.__notes__)
    y = fs.Array.from_numpy(np.zeros((4, 2)), 2).map_blocks(lambda block: 1 / 0, name="ratios")
    with pytest.raises(ZeroDivisionError) as divided:
        y.persist()
    assert any("of shape (2, 2)" in note for note in divided.value.__notes__)


def test_different_blockings(cluster: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.zeros(10), 5, name="x")
    y = fs.Array.from_numpy(np.zeros(10), 4, name="y")
    message = "'x' and 'y' are cut differently: 2 blocks of 10 rows in all"
    with pytest.raises(BlockingError, match=message):
        fs.split(x, y)
    with pytest.raises(BlockingError, match=message):
        x.map_blocks(np.add, y)
    assert len(fs.split(x, y.rechunk(x.offsets))) == 2


def test_empty_collections(cluster: fs.Cluster) -> None:
    empty = fs.Array.from_blocks([], name="nothing")
    for action in (fs.split, fs.Array.compute, lambda x: x.reduce(max)):
        with pytest.raises(EmptyCollectionError, match="'nothing': it has no blocks"):
            action(empty)


def test_use_after_drop(cluster: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.zeros(10), 5, name="points")
    (part, *_) = fs.split(x)
    x.drop()
    for action in (
        x.compute,
        x.persist,
        lambda: x.blocks,
        lambda: fs.split(x),
        lambda: list(part),
        lambda: list(part.tiles()),
        part.materialize,
    ):
        with pytest.raises(DroppedError, match="'points' was dropped"):
            action()
    with pytest.raises(DroppedError, match="use a partition of it: 'points' was dropped"):
        cluster.submit(len, part)
    assert "dropped" in repr(x)
    assert "dropped" in x._repr_html_()


def test_columns_that_arrow_has_no_type_for(cluster: fs.Cluster) -> None:
    pandas = pytest.importorskip("pandas")
    odd = {"a": [1, object(), 3]}
    for table in (odd, pandas.DataFrame(odd)):
        with pytest.raises(BlockTypeError, match=r"block 0 of 'odd' is .*Could not convert"):
            fs.Frame.from_table(table, 2, name="odd")


def test_ragged_columns(cluster: fs.Cluster) -> None:
    with pytest.raises(BlockShapeError, match=r"block 0 of 'uneven' .* ragged: 'a' 3, 'b' 2"):
        fs.Frame.from_table({"a": [1, 2, 3], "b": [1, 2]}, 2, name="uneven")


def test_what_is_no_collection(cluster: fs.Cluster) -> None:
    for thing in (np.zeros(3), [1, 2], "abc"):
        with pytest.raises(
            TypeError, match=r"split\(\) takes an Array, a Frame, a Bag .* not what"
        ):
            fs.split(thing)
    with pytest.raises(TypeError, match=r"block 1 of 'array' is a future, .*; use from_futures"):
        fs.Array.from_blocks([np.zeros(3), cluster.put(np.zeros(3))])


def test_collections_of_two_clusters(cluster: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.zeros(10), 5, name="x")
    with fs.Cluster(executors=1) as other:
        y = fs.Array.from_numpy(np.zeros(10), 5, name="y")
        assert y.client is other.client
        with pytest.raises(ValueError, match="'x' and 'y' are not in the same cluster"):
            fs.split(x, y)
    with pytest.raises(ClosedError, match="can't split 'y'"):
        fs.split(y)
    assert "its cluster is closed" in y._repr_html_()


@pytest.mark.parametrize("per", ["node", 0, -1, 1.5, None])
def test_nonsense_partitions(cluster: fs.Cluster, per: object) -> None:
    x = fs.Array.from_numpy(np.zeros(10), 5)
    with pytest.raises(ValueError, match="give 'core', 'worker' or a number"):
        fs.split(x, per=per)  # type: ignore[arg-type]


def test_nonsense_blockings() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        fs.Array.from_numpy(np.zeros(3), 0)
    for offsets in ([0, 2], [1, 3], [0, 5, 2, 3], [3]):
        with pytest.raises(ValueError, match="offsets must rise from 0 to 3"):
            fs.Array.from_numpy(np.zeros(3), offsets)
    for wrong in (1.5, True, "2", None):
        with pytest.raises(TypeError, match=r"block_rows=.*give a whole number of rows"):
            fs.Array.from_numpy(np.zeros(3), wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="offsets must rise from 0 to 3"):
        fs.Array.from_numpy(np.zeros(3), [0, 1.5, 3])  # type: ignore[list-item]
    with pytest.raises(IndexError, match="row 3 is out of bounds of an array of 3 rows"):
        fs.Array.from_numpy(np.zeros(3), 2)[3]
    with pytest.raises(ValueError, match="one dimension or more"):
        fs.Array.from_function((), 1, lambda a, b: np.zeros(()))


def test_what_is_no_collection_says_how_to_make_one() -> None:
    x = fs.Array.from_numpy(np.zeros((4, 2)), 2)
    for whole in (x.sum(), x.T):
        with pytest.raises(TypeError, match=r"has blocks; call compute\(\) instead"):
            fs.split(whole)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"make a collection of it first, by Array.from_numpy"):
        fs.split(np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(BlockTypeError, match=r"is pandas.Series .* has to be an Arrow table"):
        fs.Frame.from_table(pd.Series([1]), 1)
    with pytest.raises(TypeError, match=r"from_polars\(\) takes a frame of polars, not .*list"):
        fs.Frame.from_polars([1])
    with pytest.raises(TypeError, match="not of type NoneType"):
        fs.Frame.from_arrow(None)
    with pytest.raises(BlockTypeError, match=r"a list of items; put it into one, as \[str\]"):
        fs.Bag.from_items([1, 2], 1).map_blocks(lambda block: "xy").compute()


def test_block_rows_of_a_file_are_a_whole_number(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(3))
    for wrong in ("x", 1.5, 0, True):
        with pytest.raises(UsageError, match=r"block_rows=.*give a whole number of rows"):
            fs.read(path, block_rows=wrong)  # type: ignore[arg-type]


def test_columns_of_a_frame_are_selected(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_table(pd.DataFrame({"a": [1, 2]}), 1)
    with pytest.raises(TypeError, match=r"x\.select\('a'\) is a Frame of it"):
        frame["a"]  # type: ignore[index]


@pytest.mark.parametrize("name", INSTEAD)
def test_what_a_frame_does_not_have_says_what_to_write(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = fs.Frame.from_table(pd.DataFrame({"a": [1, 2, 2], "b": [1.0, 2.0, None]}), 2)
    with pytest.raises(AttributeError, match=f"has no '{name}'; write, say, ") as caught:
        getattr(frame, name)
    code = str(caught.value).partition("; write, say, ")[2]
    assert eval(code, {"x": frame, "pl": pl, "fs": fs}) is not NotImplemented


def test_any_other_name_is_taken_for_a_column(tmp_path: Path) -> None:
    frame = fs.Frame.from_table(pd.DataFrame({"a": [1]}), 1)
    with pytest.raises(AttributeError, match=r"x.select\('a'\) takes a column"):
        getattr(frame, "a")  # noqa: B009
    assert not hasattr(frame, "__dataframe_of_others__")


@pytest.mark.parametrize(
    ("attribute", "advice"),
    [
        ("meen", "did you mean 'mean'"),
        ("view", r"x\.compute\(\)\.view\(\)"),
        ("chunks", "x.offsets"),
    ],
)
def test_attributes_that_arrays_lack_are_answered(attribute: str, advice: str) -> None:
    x = fs.Array.from_numpy(np.ones(4), 2)
    for array in (x, x + 1):
        with pytest.raises(AttributeError, match=advice):
            getattr(array, attribute)
    assert not hasattr(x, "__array_interface__")


@pytest.mark.parametrize(
    ("attribute", "advice"),
    [("mapp", "did you mean 'map'"), ("foldby", "x.group_by"), ("sum", "fold")],
)
def test_attributes_that_bags_lack_are_answered(attribute: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(fs.Bag.from_items([1, 2], 1), attribute)
