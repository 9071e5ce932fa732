from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from freestone.functions import digest

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
)
HASHABLE = st.recursive(
    PLAIN, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner),
        st.sets(HASHABLE, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=4),
    ),
    max_leaves=10,
)
ARRAYS = hnp.arrays(
    hnp.scalar_dtypes() | hnp.array_dtypes(), hnp.array_shapes(max_side=4, min_side=0)
)


def written(value: Any) -> Any:
    """Make what is equal only if type, order and every bit are, apart from the order of sets."""
    if isinstance(value, set | frozenset):
        return (type(value), frozenset(map(written, value)))
    if isinstance(value, list | tuple):
        return (type(value), tuple(map(written, value)))
    if isinstance(value, dict):
        return (dict, tuple((written(key), written(item)) for key, item in value.items()))
    return (type(value), repr(value))


@given(VALUES)
def test_a_copy_has_the_same_digest(value: Any) -> None:
    assert digest(copy.deepcopy(value)) == digest(value)
    assert digest(pickle.loads(pickle.dumps(value))) == digest(value)


@given(VALUES, VALUES)
def test_equal_digests_are_of_equal_values(one: Any, two: Any) -> None:
    assert (digest(one) == digest(two)) == (written(one) == written(two))


@given(ARRAYS)
def test_an_array_counts_by_its_elements_and_type(array: np.ndarray) -> None:
    assert digest(array.copy()) == digest(array)
    assert digest(array.repeat(2, axis=0)[::2]) == digest(array)
    assert digest(array[np.newaxis]) != digest(array)
    assert digest(array.tolist()) != digest(array)


def test_what_is_contained_twice_and_in_itself_has_an_end() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    box: dict[str, Any] = {"ring": ring}
    box["self"] = box
    assert digest(ring) != digest([1, [1]])
    assert digest(box) == digest(box)
