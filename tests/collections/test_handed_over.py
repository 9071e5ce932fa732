"""Blocks are handed over to Dask, and taken from it, where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.client.future import Future
from freestone.errors import BlockTypeError, NotSerializableError

pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

WHOLE = np.arange(240.0).reshape(20, 3, 4)


def test_no_dtype_is_taken_from_dask_that_blocks_have_not() -> None:
    made = da.ones(6, chunks=2).map_blocks(lambda b: b.astype("f4"), dtype="f8")
    with pytest.raises(BlockTypeError, match=r"block 0 of 'array' is of dtype float32.*float64"):
        fs.Array.from_dask(made)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the bytes of what the program fetches, one by one."""
    found: list[int] = []
    fetch = Future._value

    def noted(future: Future, *timeout: Any) -> Any:
        found.append(future.nbytes or 0)
        return fetch(future, *timeout)

    monkeypatch.setattr(Future, "_value", noted)
    return found


def names(blocks: Any) -> list[str]:
    return [block.name for block in blocks]


def test_persisted_blocks_are_taken_as_they_are(cluster: fs.Cluster) -> None:
    lazy = cluster.persist(da.from_array(WHOLE, chunks=(6, 3, 4)) * 2)
    x = fs.Array.from_dask(lazy)
    assert (x.shape, x.dtype, x.offsets.tolist()) == (
        (20, 3, 4),
        np.dtype(float),
        [0, 6, 12, 18, 20],
    )
    handed = x.to_dask()
    done = cluster.statistics().done
    again = cluster.persist(handed)
    assert names(fs.Array.from_dask(again).blocks) == names(x.blocks)
    assert cluster.statistics().done == done
    np.testing.assert_array_equal(x.compute(), WHOLE * 2)


def test_no_block_is_fetched(cluster: fs.Cluster, fetched: list[int]) -> None:
    x = fs.Array.from_function(800_000, 100_000, lambda a, b: np.arange(a, b, dtype=float))
    lazy = x.to_dask()
    assert lazy.chunks == ((100_000,) * 8,)
    total = (lazy[3:] + 1).sum().compute(scheduler=cluster.get)
    assert total == np.arange(3.0, 800_000.0).sum() + 799_997
    y = fs.Array.from_dask(lazy * 2)
    assert y.shape == (800_000,)
    assert sum(fetched) < 20_000


def test_rows_of_blocks(cluster: fs.Cluster) -> None:
    x = fs.Array.from_numpy(WHOLE, 6)[4:19]
    np.testing.assert_array_equal(x.to_dask().compute(scheduler=cluster.get), WHOLE[4:19])
    np.testing.assert_array_equal(fs.Array.from_dask(x.to_dask()).compute(), WHOLE[4:19])


def test_blocks_side_by_side_are_joined(cluster: fs.Cluster, fetched: list[int]) -> None:
    lazy = da.from_array(WHOLE, chunks=(6, 2, 3))
    x = fs.Array.from_dask(lazy)
    assert sum(fetched) < 1000
    assert x.shape == WHOLE.shape
    np.testing.assert_array_equal(x.compute(), WHOLE)


def test_unknown_lengths_are_asked(cluster: fs.Cluster) -> None:
    lazy = da.arange(100, chunks=9)
    x = fs.Array.from_dask(lazy[lazy % 7 == 0])
    assert x.compute_chunk_sizes() is x
    assert x.shape == (15,)


def test_masked_blocks_are_refused(cluster: fs.Cluster) -> None:
    masked = da.ma.masked_equal(da.arange(10, chunks=5), 3)
    x = fs.Array.from_dask(masked)
    with pytest.raises(fs.errors.BlockTypeError, match="a masked array"):
        x.persist()


def test_frames(cluster: fs.Cluster, fetched: list[int]) -> None:
    table = pd.DataFrame({"a": np.arange(4000), "b": np.arange(4000.0)})
    frame = fs.Frame.from_dask(dd.from_pandas(table, npartitions=4))
    lazy = frame.to_dask()
    assert list(lazy.columns) == ["a", "b"]
    assert lazy.a.sum().compute(scheduler=cluster.get) == 3999 * 2000
    assert max(fetched) < 5000
    pd.testing.assert_frame_equal(frame.to_pandas(), table)


def test_bags(cluster: fs.Cluster, fetched: list[int]) -> None:
    bag = fs.Bag.from_dask(db.range(4000, npartitions=4).map(float))
    assert bag.to_dask().sum().compute(scheduler=cluster.get) == 3999 * 2000
    assert sum(fetched) < 5000
    assert len(bag) == 4000


NOT_OF_THIS_KIND = [
    (fs.Array, lambda: dd.from_pandas(pd.DataFrame({"a": [1]})), "a dask.array, not .* DataFrame$"),
    (fs.Array, lambda: WHOLE, "a dask.array, not what is of type ndarray$"),
    (fs.Frame, lambda: da.ones(4, chunks=2), "of type Array; Array.from_dask\\(\\) takes that"),
    (fs.Bag, lambda: [1, 2], "takes a collection of Dask's, not what is of type list"),
]


@pytest.mark.parametrize(("collection", "make", "reason"), NOT_OF_THIS_KIND)
def test_collections_of_another_kind_are_refused(collection: Any, make: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        collection.from_dask(make())


def test_an_array_of_xarray_is_refused_with_the_way_to_its_data() -> None:
    xr = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match=r"of type DataArray; its data is a dask\.array"):
        fs.Array.from_dask(xr.DataArray(da.ones(4, chunks=2)))


def test_an_open_file_says_what_to_send_instead(cluster: fs.Cluster, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["y"] = np.arange(40)
    with h5py.File(path) as file:
        graph = da.from_array(file["y"], chunks=9).sum()
        with pytest.raises(NotSerializableError, match=r"Dataset: .*fs\.read\(path, dataset=name"):
            graph.compute(scheduler=cluster.get)
    found = fs.read(path, dataset="y").to_dask().sum()
    assert found.compute(scheduler=cluster.get) == 780


def categories(*values: Any, known: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Categorical(list(values), categories=known), "k": 1})


def test_known_categories_are_known_to_dask_again(cluster: fs.Cluster) -> None:
    theirs = dd.from_pandas(categories("a", None, "b", known=["b", "a", "d"]), npartitions=3)
    ours = fs.Frame.from_dask(theirs).to_dask()
    assert ours.c.cat.known
    assert list(ours.c.cat.categories) == ["b", "a", "d"]
    both = dd.concat([theirs, ours]).compute(scheduler=cluster.get)
    assert both.c.dropna().tolist() == ["a", "b"] * 2
    assert both.c.dtype == theirs.dtypes["c"]


def test_categories_of_each_block_are_unknown_to_dask(cluster: fs.Cluster) -> None:
    tables = [categories("a"), categories(None, known=[]), categories("c", "a")]
    ours = fs.Frame.from_blocks(tables).to_dask()
    assert not ours.c.cat.known
    assert list(ours.c.cat.as_known().cat.categories) == ["a", "c"]
    found = ours.merge(ours, on="c", how="outer").compute(scheduler=cluster.get)
    assert sorted(map(str, found.c)) == ["a"] * 4 + ["c", "nan"]


def test_blocks_of_other_categories_are_one_table() -> None:
    many = [categories(*(f"{letter}{at}" for at in range(100))) for letter in "ab"]
    texts = pa.table({"c": pa.array(["z"]).dictionary_encode(), "k": [1]})
    blocks = [categories(None, known=[]), *many, texts]
    frame = fs.Frame.from_blocks(blocks)
    found = frame.compute()
    assert found["c"].to_pylist() == [None, *many[0].c, *many[1].c, "z"]
    assert frame.schema.field("c").type == pa.dictionary(pa.int32(), pa.large_string())


def test_categories_of_numbers_and_texts_are_refused() -> None:
    frame = fs.Frame.from_blocks([categories(1), categories("a")])
    with pytest.raises(BlockTypeError, match=r"block 1 of .*dictionary<values=large_string"):
        frame.compute()


def test_categories_keep_their_time_zone() -> None:
    times = pd.to_datetime(["2020-07-01", "2021-01-01"]).tz_localize("Europe/Paris")
    found = fs.Frame.from_table(categories(*times), 2).to_pandas()
    assert found.c.tolist() == times.tolist()
    assert str(found.c.cat.categories.tz) == "Europe/Paris"
