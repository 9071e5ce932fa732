"""Time, preprocessing and lists, with NumPy where there are matrices."""

from __future__ import annotations

import time
from typing import Any

from freestone.lang.front.graph.graph import Op

NO_ENDS = float("inf"), float("-inf")
"""The ends of no cells."""


def now(run: Any, op: Op) -> int:
    """Tell the nanoseconds since 1970."""
    return time.time_ns()


def quantize(run: Any, op: Op, value: Any, low: Any, high: Any) -> Any:
    """Map an interval to the numbers from 0 to 255."""
    import numpy as np

    if not low < high:
        raise ValueError(f"quantize: min {low} has to be below max {high}")
    scaled = (value.astype("f8") - low) / (high - low) * 255
    return np.clip(np.floor(scaled + 0.5), 0, 255).astype("u1")


def one_hot(run: Any, op: Op, value: Any, info: Any) -> Any:
    """Replace columns of positions by columns of zeros and ones."""
    import numpy as np

    if info.shape != (1, value.shape[1]):
        raise ValueError(
            f"oneHot of {value.shape[1]} columns needs a row of as many, not {info.shape}"
        )
    if value.dtype == object:
        value = _numbered(value)
    parts = []
    for column, width in zip(value.T, info[0].astype("i8").tolist(), strict=True):
        if width == -1:
            parts.append(column.reshape(-1, 1))
        elif width > 0:
            parts.append(_encoded(column, width))
        elif width < -1:
            raise ValueError(f"info of oneHot holds -1, 0 or a width, not {width}")
    return np.hstack(parts) if parts else np.empty((value.shape[0], 0), value.dtype)


def _encoded(column: Any, width: int) -> Any:
    import numpy as np

    places = column.astype("i8")
    wrong = places[(places != column) | (places < 0) | (places >= width)]
    if wrong.size:
        raise IndexError(f"oneHot: {wrong[0]} is no position of {width}")
    out = np.zeros((len(column), width), column.dtype)
    out[np.arange(len(column)), places] = 1
    return out


def _numbered(texts: Any) -> Any:
    """Replace the texts of each column by numbers, in the order in which they come."""
    import numpy as np

    numbered = np.empty(texts.shape, "i8")
    for at in range(texts.shape[1]):
        column = texts[:, at : at + 1]
        numbered[:, at : at + 1] = _places(column, distinct_of(column, False))
    return numbered


def recode(run: Any, op: Op, value: Any, ordered: Any) -> tuple[Any, Any]:
    """Replace values by codes."""
    if value.shape[1] != 1:
        raise ValueError(f"recode takes one column, not {value.shape[1]}")
    found = distinct_of(value, ordered)
    return encode(run, op, value, found), found


def distinct_of(column: Any, ordered: Any) -> Any:
    """Return a column of the distinct cells of one, sorted or in the order in which they come."""
    import numpy as np

    found, first = np.unique(column[:, 0], return_index=True)
    return (found if ordered else found[np.argsort(first)]).reshape(-1, 1)


def distinct(run: Any, op: Op, value: Any, ordered: Any) -> Any:
    """Return a column of the distinct cells of one."""
    return distinct_of(value, ordered)


def encode(run: Any, op: Op, value: Any, distinct: Any) -> Any:
    """Replace the cells of a column by their places in another one that has each of them once."""
    return _places(value, distinct)


def _places(value: Any, distinct: Any) -> Any:
    import numpy as np

    order = np.argsort(distinct[:, 0], kind="stable")
    places = np.searchsorted(distinct[:, 0], value[:, 0], sorter=order)
    return order[places].astype("i8").reshape(-1, 1)


def bin_(run: Any, op: Op, value: Any, count: Any, *ends: Any) -> Any:
    """Replace values by the numbers of equally wide bins; what is outside goes to the last ones."""
    import numpy as np

    cells = value.astype("f8", copy=False)
    low, high = (float(end) for end in ends or map(_finite_end, ("min", "max"), (cells, cells)))
    if (low, high) == NO_ENDS:
        raise ValueError("bin: no finite values; give min and max")
    if low > high:
        raise ValueError(f"bin: min {low} is above max {high}")
    if int(count) < 1:
        raise ValueError("bin needs at least one bin")
    width = (high - low) / int(count)
    places = np.subtract(cells, low)
    with np.errstate(all="ignore"):
        if width:
            # A bin has its upper end, not its lower one; the first has both.
            places /= width
            np.ceil(places, out=places)
            places -= 1
            np.clip(places, 0, int(count) - 1, out=places)
        else:
            places[:] = 0
        places[np.isnan(cells)] = np.nan
        return places.astype(value.dtype, copy=False)


def finite_end(run: Any, op: Op, value: Any) -> float:
    """Return the least or the greatest finite cell; an infinity that any cell replaces if none."""
    return _finite_end(op.attrs["name"], value.astype("f8", copy=False))


def _finite_end(name: str, cells: Any) -> float:
    import numpy as np

    return float(getattr(cells, name)(initial=NO_ENDS[name == "max"], where=np.isfinite(cells)))


def create_list(run: Any, op: Op, *items: Any) -> list[Any]:
    """Make a list."""
    return list(items)


def length(run: Any, op: Op, items: list[Any]) -> int:
    """Count the elements."""
    return len(items)


def append(run: Any, op: Op, items: list[Any], item: Any) -> list[Any]:
    """Make a list with one more element."""
    return [*items, item]


def element(run: Any, op: Op, items: list[Any], index: Any) -> Any:
    """Return an element of a list."""
    return items[_place(items, index)]


def replace_element(
    run: Any, op: Op, items: list[Any], index: Any, item: Any
) -> tuple[list[Any], Any]:
    """Make a list with another element at a position."""
    at = _place(items, index)
    return [*items[:at], item, *items[at + 1 :]], items[at]


def remove(run: Any, op: Op, items: list[Any], index: Any) -> tuple[list[Any], Any]:
    """Make a list without one element."""
    at = _place(items, index)
    return items[:at] + items[at + 1 :], items[at]


def _place(items: list[Any], index: Any) -> int:
    at = int(index)
    if not 0 <= at < len(items):
        raise IndexError(f"element {at} is outside of a list of {len(items)}")
    return at
