"""Between which two values in order a quantile is, by NumPy's methods.

References
----------
Hyndman and Fan, Sample quantiles in statistical packages, Am. Stat. 50 (1996).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["positions"]

_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Alpha and beta of the paper."""
_ROUNDED: dict[str, Callable[[Any], Any]] = {
    "lower": np.floor,
    "higher": np.ceil,
    "nearest": np.around,
}


def positions(method: str, count: int, q: Any) -> tuple[int, int, Any]:
    """Return two places, and how far from the first to the second a quantile is.

    Parameters
    ----------
    method
        One of NumPy's.
    count
        How many values there are, 1 or more.
    q
        A number of NumPy's from 0 to 1, with whose precision places are computed, as by NumPy.

    Returns
    -------
    tuple
        Two places from 0 to ``count - 1``, the second the first or the next; and a number
        from 0 to 1, or None where the result is a value itself.

    Examples
    --------
    >>> positions("linear", 4, np.float64(0.5))
    (1, 2, np.float64(0.5))
    >>> positions("lower", 4, np.float64(0.5))
    (1, 1, None)
    """
    if method in _ROUNDED:
        return _at(count, _ROUNDED[method]((count - 1) * q))
    if method == "inverted_cdf":
        return _at(count, np.ceil(count * q - 1))
    if method == "closest_observation":
        index = count * q - 1 - 0.5
        below = np.floor(index)
        return _at(count, below if index == below and below % 2 == 1 else below + 1)
    if method == "averaged_inverted_cdf":
        index = count * q - 1
        return _between(count, index, 0.5 if index == np.floor(index) else 1.0)
    if method == "midpoint":
        index = 0.5 * (np.floor((count - 1) * q) + np.ceil((count - 1) * q))
        return _between(count, index, 0.0 if index % 1 == 0 else 0.5)
    if method == "linear":
        index = (count - 1) * q
        return _at(count, index) if q.dtype.kind in "iu" else _between(count, index)
    alpha, beta = _CONTINUOUS[method]
    return _between(count, count * q + (alpha + q * (1 - alpha - beta)) - 1)


def _at(count: int, place: Any) -> tuple[int, int, None]:
    whole = min(max(int(place), 0), count - 1)
    return whole, whole, None


def _between(count: int, index: Any, part: Any = None) -> tuple[int, int, Any]:
    below = np.floor(index)
    part = index - below if part is None else index.dtype.type(part)
    if index >= count - 1 or index < 0:
        return (0, 0, part) if index < 0 else (count - 1, count - 1, part)
    return int(below), int(below) + 1, part
