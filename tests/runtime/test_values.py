"""Arguments and results come back as they were, encoded without pickle or with it."""

from __future__ import annotations

import struct
import subprocess
import sys
from inspect import Arguments
from pathlib import Path
from tokenize import TokenInfo
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from freestone.client.waiting import DoneAndNotDone

KINDS = ["b", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"]
ARRAYS = hnp.arrays(
    st.sampled_from([*KINDS, ">f8", "S3", "M8[s]", "q"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=20),
    ARRAYS,
    ARRAYS.filter(lambda array: array.size > 0).map(lambda array: array.flat[0]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=3),
        st.builds(DoneAndNotDone, inner, inner),
        st.builds(Arguments, inner, inner, inner),
    ),
    max_leaves=12,
)


def same(value: Any) -> Any:
    return value


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, bit by bit."""
    if isinstance(one, np.generic) and isinstance(other, np.generic):
        # NumPy itself has two names for one kind of integer, and pickles one of them.
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, np.ndarray):
        layout = (one.dtype, one.shape) == (other.dtype, other.shape)
        return layout and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return bool(one == other)


@settings(max_examples=150, deadline=None)
@given(value=VALUES)
def test_values_come_back_as_they_were(cluster: fs.Cluster, value: Any) -> None:
    assert alike(cluster.submit(same, value, pure=False).result(), value)
    assert alike(cluster.submit(same, value=value, pure=False).result(), value)
    assert alike(cluster.put(value).result(), value)


@pytest.mark.parametrize("rows", [10, 8_000, 200_000])
def test_arrays_of_any_size_and_order(cluster: fs.Cluster, rows: int) -> None:
    table = np.arange(rows * 3.0).reshape(rows, 3)
    for array in (table, table.T, table[::2], np.asfortranarray(table), table[:, 1]):
        found = cluster.submit(same, array).result()
        np.testing.assert_array_equal(found, array)
        assert array.ndim == 1 or found.flags.f_contiguous == array.flags.f_contiguous


def test_arrays_of_one_shape_are_not_mixed_up(cluster: fs.Cluster) -> None:
    table = np.arange(12_288.0).reshape(4096, 3)
    read_only = table + 1
    read_only.flags.writeable = False
    noted = np.dtype("f8", metadata={"unit": "m"})
    others = [table.view(np.recarray), table.view(noted), table.astype(">f8")]
    others.append(np.asfortranarray(table))
    arrays = [table, table * 2, read_only, table.view("i8"), table.view("M8[s]"), *others]
    for array in [*arrays, *reversed(arrays)]:
        for found in (cluster.put(array).result(), cluster.submit(same, array).result()):
            assert alike(found, array)
            assert found.flags.f_contiguous == array.flags.f_contiguous


COUNTING = """
import copyreg, pickle
import numpy as np

dumps, pickled = pickle.dumps, []

def counting(value, *arguments, **keywords):
    pickled.extend([value.shape] if type(value) is np.ndarray else [])
    return dumps(value, *arguments, **keywords)

pickle.dumps = counting
import freestone as fs

if __name__ == "__main__":
    with fs.Cluster(executors=1) as cluster:
        blocks = [cluster.put(np.full(5003, number)) for number in range(100)]
        assert pickled == [(5003,)], pickled
        assert [block.result()[-1] for block in blocks] == list(range(100))
        copyreg.pickle(np.ndarray, lambda array: (str, ("reduced" * 9999,)))
        assert cluster.put(np.zeros(5003)).result() == "reduced" * 9999
"""


def test_of_arrays_of_one_shape_and_dtype_only_the_first_is_pickled(tmp_path: Path) -> None:
    script = tmp_path / "counting.py"
    script.write_text(COUNTING)
    subprocess.run([sys.executable, script], check=True, timeout=120)


def test_arguments_can_be_written_to_if_they_could_before(cluster: fs.Cluster) -> None:
    def write(array: Any) -> int:
        if array.flags.writeable:
            array[0] = 7
        return int(array[0])

    array = np.zeros(3)
    assert cluster.submit(write, array).result() == 7
    assert array[0] == 0
    array.flags.writeable = False
    assert cluster.submit(write, array).result() == 0


def test_what_is_one_object_stays_one(cluster: fs.Cluster) -> None:
    def are_one(one: Any, other: Any) -> bool:
        return one is other

    for value in (np.zeros(3), [1, 2], {"a": 1}):
        assert cluster.submit(are_one, value, value).result()
        assert not cluster.submit(are_one, value, value.copy()).result()


def test_named_tuples_that_are_more_than_their_values(cluster: fs.Cluster) -> None:
    class Counting(NamedTuple):
        count: int

        def __reduce__(self) -> Any:
            return Counting, (self.count + 1,)

    token = TokenInfo(1, "text", (1, 0), (1, 4), "text")
    token.note = "kept"
    assert cluster.submit(lambda found: found.note, token).result() == "kept"
    assert cluster.submit(lambda found: found.count, Counting(1)).result() == 2


def test_futures_stand_for_their_values_wherever_they_are(cluster: fs.Cluster) -> None:
    one, two = cluster.put(1), cluster.submit(same, np.arange(2.0))
    nested = (one, DoneAndNotDone(two, (one, one)), "text")
    found = cluster.submit(lambda value, more: (value, more), nested, more=two).result()
    expected = (1, DoneAndNotDone(np.arange(2.0), (1, 1)), "text"), np.arange(2.0)
    assert alike(found, expected)


def test_values_of_different_kinds_make_different_calls(cluster: fs.Cluster) -> None:
    values = [1, 1.0, True, "1", b"1", (1,), np.int64(1), np.float64(1), np.array(1), np.array([1])]
    futures = [cluster.submit(same, value) for value in values]
    assert len({future.name for future in futures}) == len(values)
    assert all(map(alike, cluster.gather(futures), values))


def test_tuples_in_many_tuples(cluster: fs.Cluster) -> None:
    value: Any = ()
    for _ in range(200):
        value = (value, 1)
    assert cluster.submit(same, value).result() == value


def test_an_array_of_just_the_limit_travels_in_messages(cluster: fs.Cluster) -> None:
    limit = cluster.config.inline_nbytes
    small = cluster.submit(np.zeros, limit, "u1", pure=False)
    assert small.result().nbytes == limit
    assert "held by the manager" in str(cluster.explain(small))
    assert cluster.who_has([small])[small.name] == []
    large = cluster.submit(np.zeros, limit + 128, "u1", pure=False)
    assert large.result().nbytes == limit + 128
    assert cluster.who_has([large])[large.name] == ["worker-0"]
