"""Bytes, seconds, resources and lengths, as people write and read them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

__all__ = [
    "COUNTED",
    "custom_resources",
    "format_count",
    "format_nbytes",
    "format_resources",
    "format_seconds",
    "is_unknown",
    "machine_nbytes",
    "numpys_shape",
    "parse_nbytes",
    "parse_resources",
]

COUNTED = ("cores", "gpus", "memory", "disk")
"""The resources that every worker has; others are custom."""

_RESOURCE = re.compile(r"[A-Za-z][\w.-]{0,63}")
_STEPS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NBYTES = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgtp])(i?))?b?\s*", re.IGNORECASE)


def parse_nbytes(text: str | int) -> int:
    """Parse an amount of bytes.

    Parameters
    ----------
    text : str or int
        ``"2GiB"`` and ``"2 gib"`` are powers of 1024, ``"2GB"`` and ``"2G"`` of 1000, a plain
        number is bytes.

    Returns
    -------
    int
        Bytes, rounded down.

    Raises
    ------
    ValueError
        If it is negative or not an amount of bytes.

    Examples
    --------
    >>> parse_nbytes("1.5 KiB"), parse_nbytes("2MB"), parse_nbytes(512)
    (1536, 2000000, 512)
    """
    if hasattr(text, "__index__") and not isinstance(text, bool):
        # NumPy's integers are others than Python's.
        nbytes = index(text)
        if nbytes < 0:
            raise ValueError(f"an amount of bytes can't be negative: {nbytes}")
        return nbytes
    match = _NBYTES.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"not an amount of bytes: {text!r}; write it like 512, '64MB' or '2GiB'")
    number, step, binary = match.groups()
    scale = (1024 if binary else 1000) ** (_STEPS[step.lower()] if step else 0)
    return int(number) * scale if number.isdigit() else int(float(number) * scale)


def format_nbytes(nbytes: int) -> str:
    """Write an amount of bytes for people, in powers of 1024 and three digits.

    Examples
    --------
    >>> format_nbytes(1000), format_nbytes(1536), format_nbytes(64 * 2**20)
    ('1000 bytes', '1.5 KiB', '64 MiB')
    """
    if abs(nbytes) < 1024:
        return "1 byte" if nbytes == 1 else f"{nbytes} bytes"
    size = float(nbytes)
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        size /= 1024
        if abs(size) < 999.5 or unit == "PiB":
            break
    return f"{_three_digits(size)} {unit}"


def parse_resources(given: Any) -> dict[str, int]:
    """Check custom resources, and return them by name.

    Parameters
    ----------
    given : mapping of str to int, or str
        ``{"licence": 1}``, or ``"licence=1,tape=2"``.

    Raises
    ------
    ValueError
        If a name is that of a resource that every worker has, is no name, or has two amounts, or
        an amount is not a whole number from 0 to 4,294,967,295.

    Examples
    --------
    >>> parse_resources("licence=1, tape=2")
    {'licence': 1, 'tape': 2}
    """
    if isinstance(given, str):
        pairs = [part.partition("=") for part in given.split(",") if part.strip()]
        names = [name.strip() for name, _, _ in pairs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"resources: {twice!r} has two amounts in {given!r}")
        given = {name.strip(): amount.strip() for name, _, amount in pairs}
    if not isinstance(given, Mapping):
        raise ValueError("resources: give {'licence': 1} or 'licence=1,tape=2'")
    return {name: _resource(name, amount) for name, amount in given.items()}


def _resource(name: Any, amount: Any) -> int:
    if isinstance(amount, str) and amount.isdecimal():
        amount = int(amount)
    if not isinstance(name, str) or not _RESOURCE.fullmatch(name):
        problem = f"{name!r} can't be its name: a letter, then letters, digits, '_', '.' and '-'"
    elif name in COUNTED or name.lower().rstrip("s") in ("core", "cpu", "gpu", "mem", "memory"):
        problem = f"{name!r} is no custom resource: every worker has {', '.join(COUNTED)}"
    elif not isinstance(amount, int) or isinstance(amount, bool) or not 0 <= amount < 2**32:
        problem = f"{name}={amount!r}: give a whole number from 0 to {2**32 - 1:,}"
    else:
        return amount
    raise ValueError(f"resources: {problem}")


def format_resources(resources: Mapping[str, int]) -> str:
    """Write resources as `parse_resources` reads them.

    Examples
    --------
    >>> format_resources({"licence": 1, "tape": 2})
    'licence=1,tape=2'
    """
    return ",".join(f"{name}={amount}" for name, amount in resources.items())


def custom_resources(resources: Mapping[str, int]) -> dict[str, int]:
    """Return those that only some workers have."""
    return {name: amount for name, amount in resources.items() if name not in COUNTED}


def format_seconds(seconds: float) -> str:
    """Write a duration for people.

    Examples
    --------
    >>> format_seconds(0.00042), format_seconds(12.345), format_seconds(75), format_seconds(7265)
    ('420 µs', '12.3 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 0:
        return f"-{format_seconds(-seconds)}"
    if seconds >= 59.95:
        return _long(round(seconds))
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 0.9995:
            return f"{_three_digits(seconds * scale)} {unit}"
    return "0 s" if seconds == 0 else f"{_three_digits(seconds * 1e9)} ns"


def _long(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(k for k, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def _three_digits(value: float) -> str:
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_count(amount: int, noun: str, plural: str = "") -> str:
    """Return a number of things, in the plural unless it is one.

    Examples
    --------
    >>> format_count(1, "task"), format_count(2000, "task"), format_count(0, "process", "processes")
    ('1 task', '2,000 tasks', '0 processes')
    """
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def machine_nbytes() -> int:
    """Return the memory that this machine, or this container, has."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            return min(total, int(limit.read()))
    except (OSError, ValueError):
        return total


def is_unknown(*counts: float | None) -> bool:
    """Tell whether one of some lengths is not known yet: NaN, as Dask has it, or None."""
    return any(count is None or count != count for count in counts)


def numpys_shape(shape: Sequence[int | None]) -> tuple[Any, ...]:
    """Return a shape as users see it: NaN stands for a length that is not known yet.

    Dask, and what follows its protocol, takes NaN for that. Graphs have None, since all NaN differ.
    """
    if None not in shape:
        return tuple(shape)
    import numpy as np

    # NumPy's own: tuples of one and the same NaN are equal.
    return tuple(np.nan if side is None else side for side in shape)
