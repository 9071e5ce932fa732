"""ROOT, by uproot: trees and RNTuples are read as frames; frames and matrices are written as trees.

Options of a read: `tree`, the name in the file where it has several; `kind`. Of a write: `tree`,
the name it gets. A column with several values per row is read as a column of lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.root_baskets import (
    Numbers,
    Places,
    check_unpacked,
    numbers_of,
    places_of,
    read_values,
)
from freestone.io.formats.tables import file_of, foreign, needs, not_chosen, table_of, whole
from freestone.io.open_once import opened_once
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "histograms_of", "open_dataset", "open_writer", "write_histograms"]

MATRIX = "freestone_matrix"
# Places of more baskets are not sent to workers, which then parse the tree.
MAX_SENT = 1 << 12
# What RNTuples call numbers.
FIELDS = {
    "bool": "?",
    "float": "f4",
    "double": "f8",
    **{f"std::int{8 * size}_t": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"std::uint{8 * size}_t": f"u{size}" for size in (1, 2, 4, 8)},
}


@dataclass(frozen=True, kw_only=True)
class Entries(Dataset):
    """Entries of a tree or RNTuple."""

    is_columnar: ClassVar[bool] = True
    tree: str
    branches: tuple[str, ...]
    numbers: tuple[Numbers | None, ...] = ()
    places: Mapping[str, Places] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is longer than the work that it saves."""
        count = sum(len(one.seeks) for one in self.places.values())
        return {**self.__dict__, "places": {}} if count > MAX_SENT else self.__dict__

    def select(self, columns: tuple[str, ...]) -> Entries:
        """Return the frame with some of its branches only."""
        numbers = dict(zip(self.branches, self.numbers, strict=True))
        kept = tuple(numbers[name] for name in columns)
        places = {name: self.places[name] for name in columns if name in self.places}
        return self._with_columns(columns, branches=columns, numbers=kept, places=places)

    def arrow_schema(self) -> Any:
        """Return the schema; of numbers and lists of them the file is not opened again.

        That takes longest.
        """
        if None in self.numbers:
            return super().arrow_schema()
        pa = needs("pyarrow", "arrow", "a frame")
        types = [one.arrow_type for one in self.numbers if one is not None]
        return pa.schema(list(zip(self.branches, types, strict=True)))

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows; of numbers in a local file without another look at its tree."""
        found = None
        if self.location.path is not None and self.places.keys() >= {*self.branches}:
            found = self._read_baskets(start, stop)
        return self._read_tree(start, stop) if found is None else found

    def _read_baskets(self, start: int, stop: int) -> Any:
        places = {name: self.places[name] for name in self.branches}
        with foreign(self.location), file_of(self.location) as raw:
            found = read_values(self.location, raw, places, start, stop)
        if found is None:
            return None
        if self.kind == "array":
            return np.column_stack([*found.values()]).astype(str(self.dtype), copy=False)
        pa = needs("pyarrow", "arrow", "a frame")
        arrays = [pa.array(one) if isinstance(one, np.ndarray) else one for one in found.values()]
        fields = [
            pa.field(name, one.type, nullable=False)
            for name, one in zip(found, arrays, strict=True)
        ]
        return pa.table(arrays, schema=pa.schema(fields))

    def _read_tree(self, start: int, stop: int) -> Any:
        ak = needs("awkward", "root", "ROOT")
        with foreign(self.location), _opened(self.location, self.stamp) as file:
            tree = file[self.tree]
            _check_baskets(self.location, tree, self.branches, start, stop)
            found = tree.arrays(
                list(self.branches), entry_start=start, entry_stop=stop, library="ak"
            )
            if self.kind == "array":
                columns = [ak.to_numpy(found[name]) for name in self.branches]
                return np.column_stack(columns).astype(str(self.dtype), copy=False)
            return whole(ak.to_arrow_table(found, extensionarray=False))


def open_dataset(
    location: FileLocation, *, tree: str | None = None, kind: str | None = None
) -> Dataset:
    """Look at the trees of a ROOT file."""
    stamp = location.stamp()
    with foreign(location), _opened(location, stamp) as file:
        names = _trees(file)
        name = _chosen(location, names, tree)
        found = file[name]
        _check_envelopes(location, found)
        branches = tuple(map(str, found.keys(recursive=False)))
        rows = int(found.num_entries)
        numbers = tuple(_numbers(found[branch]) for branch in branches)
        places = places_of(found)
        is_matrix = MATRIX in file.classnames(cycle=False)
    common: dict[str, Any] = {
        "location": location,
        "stamp": stamp,
        "rows": rows,
        "row_nbytes": stamp[0] / max(rows, 1),
        "tree": name,
        "branches": branches,
        "places": places,
        "numbers": numbers,
    }
    plain = [one.dtype for one in numbers if one is not None and not one.is_list]
    numeric = bool(plain) and len(plain) == len(numbers)
    if kind == "array" or (kind is None and is_matrix and numeric):
        if not numeric:
            raise UsageError("not all branches are numbers; read it with kind='frame'")
        dtype = np.result_type(*plain).str
        return Entries(kind="array", columns=(len(branches),), dtype=dtype, **common)
    return Entries(kind="frame", columns=branches, **common)


def _opened(location: FileLocation, stamp: tuple[Any, ...]) -> AbstractContextManager[Any]:
    return opened_once((location.url, stamp), partial(_file, location))


@contextmanager
def _file(location: FileLocation) -> Iterator[Any]:
    uproot = needs("uproot", "root", "ROOT")
    with file_of(location) as raw, uproot.open(raw) as file:
        yield file


def _check_baskets(
    location: FileLocation, tree: Any, names: tuple[str, ...], start: int, stop: int
) -> None:
    """Raise `FormatError` for a basket of some entries that says it would unpack to too much."""
    if tree.has_member("fSeekHeader"):
        return
    for name in names:
        for branch in (tree[name], *tree[name].itervalues(recursive=True)):
            most = branch.member("fTotBytes")
            seeks = branch.member("fBasketSeek")[: branch.num_baskets]
            for number in np.flatnonzero(seeks).tolist():
                first, last = branch.basket_entry_start_stop(number)
                if first >= stop or last <= start:
                    continue
                unpacked = branch.basket_key(number).data_uncompressed_bytes
                nbytes = branch.basket_compressed_bytes(number)
                at = int(seeks[number])
                check_unpacked(location, branch.name, number, at, nbytes, unpacked, most)


def _check_envelopes(location: FileLocation, found: Any) -> None:
    """Raise `FormatError` for an RNTuple whose description is not what its checksums are of.

    The library looks at them when it has read it all, and a count that is damaged to its end.
    """
    if not found.has_member("fSeekHeader"):
        return
    for part in ("Header", "Footer"):
        at, packed, nbytes = (found.member(f"f{what}{part}") for what in ("Seek", "NBytes", "Len"))
        _check_envelope(location, found.file, at, packed, nbytes)
    for group in found.footer.cluster_group_records:
        link = group.page_list_link
        locator = link.locator
        size = link.env_uncomp_size
        _check_envelope(location, found.file, locator.offset, locator.num_bytes, size)


def _check_envelope(location: FileLocation, file: Any, at: int, packed: int, nbytes: int) -> None:
    uproot, xxhash = needs("uproot", "root", "ROOT"), needs("xxhash", "root", "ROOT")
    chunk = file.source.chunk(at, at + packed)
    if packed != nbytes:
        cursor = uproot.source.cursor.Cursor(at)
        chunk = uproot.compression.decompress(chunk, cursor, {}, packed, nbytes)
    content = bytes(chunk.raw_data)
    # The checksum is the last number, its lowest byte first.
    if xxhash.xxh3_64_digest(content[:-8]) != content[:-9:-1]:
        reason = f"byte {at:,}: what describes its entries is not what its checksum says (damaged)"
        raise FormatError(location.url, reason)


def _trees(file: Any) -> list[str]:
    classes = file.classnames(cycle=False)
    return [name for name, kind in classes.items() if kind == "TTree" or "RNTuple" in kind]


def _numbers(branch: Any) -> Numbers | None:
    """Return what a branch has in each entry, or a field of an RNTuple, if that is numbers."""
    field = FIELDS.get(getattr(branch, "typename", ""))
    if field is not None and not hasattr(branch, "interpretation"):
        return Numbers(np.dtype(field).str)
    return numbers_of(getattr(branch, "interpretation", None))


def _chosen(location: FileLocation, names: list[str], tree: str | None) -> str:
    if tree is None and len(names) == 1:
        return names[0]
    if tree in names:
        return str(tree)
    raise UsageError(not_chosen(location.url, "tree", names, "tree", tree))


def open_writer(location: FileLocation, shape: Shape, *, tree: str = "tree") -> StreamWriter:
    """Write a tree, a basket of each column for each block."""
    needs("uproot", "root", "ROOT")
    needs("pyarrow", "root", "ROOT")
    needs_columns(location, shape)
    twice = [name for name, count in Counter(shape.columns).items() if count > 1]
    if shape.kind == "frame" and twice:
        raise UsageError(f"two columns are called {twice[0]!r}; give them names of their own")
    return RootWriter(location=location, shape=shape, tree=tree)


@dataclass(frozen=True, kw_only=True)
class RootWriter(StreamWriter):
    """A tree, extended block by block."""

    tree: str

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        uproot = needs("uproot", "root", "ROOT")
        file = uproot.recreate(path)
        if self.shape.kind == "array":
            file[MATRIX] = str(self.shape.dtype)
        columns = _columns(table_of(first, self.shape))
        file.mktree(self.tree, {name: values.dtype for name, values in columns.items()})
        return file

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        file[self.tree].extend(_columns(table_of(block, self.shape)))


def histograms_of(x: Any) -> dict[str, Any] | None:
    """Return histograms by name, if a value is one or a mapping of some; None for any other value.

    A histogram has ``axes`` and ``values()``, as boost-histogram's and hist's have.
    """
    if _is_histogram(x):
        return {str(getattr(x, "name", None) or "histogram"): x}
    if isinstance(x, Mapping) and x and all(map(_is_histogram, x.values())):
        return {str(name): one for name, one in x.items()}
    return None


def _is_histogram(x: Any) -> bool:
    return hasattr(x, "axes") and callable(getattr(x, "values", None)) and hasattr(x, "variances")


def write_histograms(path: str, histograms: Mapping[str, Any]) -> None:
    """Write histograms of one to three axes into a local file, as ROOT's TH1D, TH2D and TH3D."""
    uproot = needs("uproot", "root", "ROOT")
    for name, one in histograms.items():
        if not 1 <= len(one.axes) <= 3:
            raise UsageError(f"histogram {name!r} has {len(one.axes)} axes; ROOT has one to three")
    with uproot.recreate(path) as file:
        for name, one in histograms.items():
            file[name] = one


def _columns(table: Any) -> dict[str, Any]:
    columns = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        values = column.to_numpy()
        if column.null_count or values.dtype.kind not in "biuf":
            raise UsageError(
                f"column {name!r} of type {column.type} can't be written to a tree, which has "
                "numbers without gaps; fill or leave it out, or write the frame as parquet"
            )
        columns[str(name)] = values
    return columns


FORMAT = Format(
    name="root",
    suffixes=(".root",),
    open_dataset=open_dataset,
    open_writer=open_writer,
    write_histograms=write_histograms,
)
