"""Baskets of ROOT trees: where the numbers of a branch lie in a file, and how they are read there.

An entry is one number, or a list of them; then where each list ends stands behind the values.

Most of the time of a read of few branches goes into the description of the tree, which lists all of
them. Who has parsed it once keeps where the baskets of numbers are; who reads rows then seeks
these baskets, and parses nothing.

References
----------
ROOT's class reference: TKey, TBasket. What they begin with is as in ``uproot.models.TBasket``.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.errors import FormatError
from freestone.io.formats.tables import needs
from freestone.io.stores import FileLocation

__all__ = ["Numbers", "Places", "check_unpacked", "numbers_of", "places_of", "read_values"]

KEY = struct.Struct(">ihiIhh")
"""Of a key: bytes of the basket, version, bytes that it unpacks to, date, its own bytes, cycle."""
BASKET = struct.Struct(">HiiiiB")
"""At the key's end: version, two sizes of buffers, entries, where values end, a flag."""
RATIO = 100
"""Of what a basket unpacks to, to what it is, whatever its branch says that all have."""
MAX_BASKETS = 1 << 20
"""Places of so many baskets of a file are kept, while columns are chosen."""


@dataclass(frozen=True)
class Numbers:
    """What an entry is: a number, or a list of them.

    Attributes
    ----------
    dtype : str
        As NumPy has them, the bytes in the order of this machine.
    is_list : bool
        Whether an entry is a list.
    """

    dtype: str
    is_list: bool = False

    @property
    def arrow_type(self) -> Any:
        """The type of Arrow that entries have."""
        pa = needs("pyarrow", "arrow", "a frame")
        kind = pa.from_numpy_dtype(np.dtype(self.dtype))
        return pa.large_list(pa.field("item", kind, nullable=False)) if self.is_list else kind


def numbers_of(interpretation: Any) -> Numbers | None:
    """Return what the library takes the entries of a branch for, if that is numbers."""
    is_list = hasattr(interpretation, "header_bytes") and hasattr(interpretation, "content")
    content = interpretation.content if is_list else interpretation
    dtype = getattr(content, "to_dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.shape or dtype.kind not in "biufc":
        return None
    return Numbers(dtype.newbyteorder("=").str, is_list)


@dataclass(frozen=True)
class Places:
    """Where the values of a branch of numbers are.

    Attributes
    ----------
    dtype : str
        As they are stored: the highest byte first.
    entries : array, shape (baskets + 1,)
        The first entry of each basket, and the end of the last one.
    seeks : array, shape (baskets,)
        The first byte of each basket.
    sizes : array, shape (baskets,)
        Bytes of each basket in the file.
    unpacked_nbytes : int
        Bytes that all baskets unpack to, as the branch says.
    is_list : bool
        Whether an entry is a list of numbers.
    """

    dtype: str
    entries: NDArray[np.int64]
    seeks: NDArray[np.int64]
    sizes: NDArray[np.int64]
    unpacked_nbytes: int
    is_list: bool = False

    @property
    def numbers(self) -> Numbers:
        """What an entry is."""
        return Numbers(np.dtype(self.dtype).newbyteorder("=").str, self.is_list)


def places_of(tree: Any) -> dict[str, Places]:
    """Return where the values of those branches of a tree are whose entries are numbers, or lists.

    Baskets that lie in the description itself, as those of a file that was not closed, have no
    place, and neither have those of a tree of too many.
    """
    if tree.has_member("fSeekHeader"):
        return {}
    found, left = {}, MAX_BASKETS
    names = Counter(branch.name for branch in tree.branches)
    for branch in tree.branches:
        places = _places(branch) if names[branch.name] == 1 else None
        if places is not None and len(places.seeks) <= left:
            found[branch.name] = places
            left -= len(places.seeks)
    return found


def _places(branch: Any) -> Places | None:
    found = branch.interpretation
    # Of what has a header in front of each list, as a vector has, the library knows more.
    is_list = getattr(found, "header_bytes", None) == 0 and hasattr(found, "content")
    if is_list:
        found = found.content
    dtype = getattr(found, "from_dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.shape or dtype.kind not in "biuf":
        return None
    to_dtype = getattr(found, "to_dtype", None)
    if branch.branches or to_dtype != dtype.newbyteorder("="):
        return None
    seeks = np.asarray(branch.member("fBasketSeek"), np.int64)
    count = int(np.count_nonzero(seeks))
    entries = np.asarray(branch.member("fBasketEntry")[: count + 1], np.int64)
    sizes = np.asarray(branch.member("fBasketBytes")[:count], np.int64)
    is_whole = len(entries) == count + 1 and len(sizes) == count and bool(seeks[:count].all())
    if not is_whole or entries[0] != 0 or entries[-1] != branch.num_entries:
        return None
    if (np.diff(entries) < 0).any() or (sizes <= KEY.size + BASKET.size).any():
        return None
    total = int(branch.member("fTotBytes"))
    return Places(dtype.str, entries, seeks[:count].copy(), sizes, total, is_list)


def read_values(
    location: FileLocation, file: Any, places: Mapping[str, Places], start: int, stop: int
) -> dict[str, Any] | None:
    """Read entries ``start:stop`` of some branches: an array of each, of lists as Arrow has them.

    None where a basket does not say where its lists end, but another branch does.

    Raises
    ------
    FormatError
        When a basket is not what the tree says of it.
    """
    found = {}
    for name, one in places.items():
        parts = [*_parts(location, file, name, one, start, stop)]
        if any(part is None for part in parts):
            return None
        found[name] = _joined_lists(one, parts) if one.is_list else _joined(one, parts)
    return found


def _joined(places: Places, parts: list[Any]) -> NDArray[Any]:
    dtype = np.dtype(places.dtype).newbyteorder("=")
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype)


def _joined_lists(places: Places, parts: list[Any]) -> Any:
    pa = needs("pyarrow", "arrow", "a frame")
    values = pa.array(_joined(places, [values for values, _ in parts]))
    lengths = [np.zeros(1, np.int64), *(lengths for _, lengths in parts)]
    ends = np.cumsum(np.concatenate(lengths))
    return pa.LargeListArray.from_arrays(pa.array(ends), values, type=places.numbers.arrow_type)


def _parts(
    location: FileLocation, file: Any, name: str, places: Places, start: int, stop: int
) -> Iterator[Any]:
    """Yield what each basket has of some entries: values, and of lists their lengths, too."""
    entries, itemsize = places.entries, np.dtype(places.dtype).itemsize
    first = int(np.searchsorted(entries, start, side="right")) - 1
    for number in range(max(first, 0), len(places.seeks)):
        begin, end = entries[number : number + 2].tolist()
        if begin >= stop:
            return
        raw, rest, key_nbytes = _unpacked(location, file, name, places, number)
        wanted = slice(max(start - begin, 0), min(stop, end) - begin)
        if places.is_list:
            if len(rest):
                ends = _ends(location, name, places, number, len(raw), rest, key_nbytes)
                ends = ends[wanted.start : wanted.stop + 1]
                yield np.frombuffer(raw, places.dtype)[ends[0] : ends[-1]], np.diff(ends)
            else:
                yield None
            continue
        if len(raw) != (end - begin) * itemsize:
            raise _damaged(
                location,
                *(name, places, number),
                f"has {len(raw):,} bytes of values, where {end - begin:,} entries have "
                f"{(end - begin) * itemsize:,}",
            )
        yield np.frombuffer(raw, places.dtype)[wanted]


def _ends(
    location: FileLocation,
    name: str,
    places: Places,
    number: int,
    nbytes: int,
    rest: NDArray[np.uint8],
    key_nbytes: int,
) -> NDArray[np.int64]:
    """Return where the first list of a basket begins, and each ends, in values.

    Behind its `nbytes` of values stands how many numbers follow, and where each list begins, in
    bytes from the first one of its key; the last of these numbers says nothing.
    """
    count = int(places.entries[number + 1] - places.entries[number])
    if len(rest) != 4 * (count + 2):
        reason = f"has {len(rest):,} bytes behind its values, where {count:,} lists have "
        raise _damaged(location, name, places, number, reason + f"{4 * (count + 2):,}")
    ends = np.frombuffer(rest, ">i4")[1:].astype(np.int64) - key_nbytes
    ends[-1] = nbytes
    itemsize = np.dtype(places.dtype).itemsize
    if ends[0] or (np.diff(ends) < 0).any() or (ends % itemsize).any():
        raise _damaged(location, name, places, number, "says that its lists begin elsewhere")
    return ends // itemsize


def _unpacked(
    location: FileLocation, file: Any, name: str, places: Places, number: int
) -> tuple[Any, Any, int]:
    """Return the bytes of a basket's values, those that follow, and how many its key has."""
    at, nbytes = int(places.seeks[number]), int(places.sizes[number])
    file.seek(at)
    raw = file.read(nbytes)
    if len(raw) != nbytes:
        raise _damaged(location, name, places, number, "is beyond the file's end")
    stored, _, unpacked, _, key_nbytes, _ = KEY.unpack_from(raw)
    if stored != nbytes or not KEY.size + BASKET.size <= key_nbytes <= nbytes or unpacked < 0:
        raise _damaged(location, name, places, number, "has another size than its branch says")
    check_unpacked(location, name, number, at, nbytes, unpacked, places.unpacked_nbytes)
    last = BASKET.unpack_from(raw, key_nbytes - BASKET.size)[4] - key_nbytes
    if not 0 <= last <= unpacked:
        raise _damaged(location, name, places, number, "says that its values end elsewhere")
    packed = np.frombuffer(raw, np.uint8)[key_nbytes:]
    if len(packed) != unpacked:
        uproot = needs("uproot", "root", "ROOT")
        # A file's name is all that errors of the library want of a source.
        chunk = uproot.source.chunk.Chunk.wrap(SimpleNamespace(file_path=location.url), packed)
        cursor = uproot.source.cursor.Cursor(0)
        packed = uproot.compression.decompress(chunk, cursor, {}, len(packed), unpacked).raw_data
    return packed[:last], packed[last:], key_nbytes


def check_unpacked(
    location: FileLocation, name: str, number: int, at: int, nbytes: int, unpacked: int, most: int
) -> None:
    """Raise `FormatError` for a basket that says it would unpack to too much.

    The library makes room for what it says before it unpacks any.

    Parameters
    ----------
    location
        The file.
    name, number
        The branch, and which of its baskets.
    at, nbytes
        The first byte of the basket, and its size in bytes.
    unpacked
        Bytes that it says it unpacks to.
    most
        Bytes that all baskets of the branch unpack to, as that says.
    """
    if unpacked > max(most, RATIO * nbytes):
        raise FormatError(
            location.url,
            f"byte {at:,}: basket {number} of {name!r} would unpack to {unpacked:,} bytes, where "
            f"all of them shall have {most:,} (damaged)",
        )


def _damaged(
    location: FileLocation, name: str, places: Places, number: int, what: str
) -> FormatError:
    at = int(places.seeks[number])
    return FormatError(location.url, f"byte {at:,}: basket {number} of {name!r} {what} (damaged)")
