"""What is fuzzed: the files it begins with, how they are changed, and how they are read."""

from __future__ import annotations

import pickle
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from freestone.errors import FileError, FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats import arrow, avro, csv, dbdf, mtx, netcdf, npy, parquet, root, tdms
from freestone.io.formats import zarr as formats_zarr
from freestone.io.formats.meta import parse_meta
from freestone.io.stores import FileLocation
from freestone.io.stores.lustre import Layout, _decoded, _parsed
from freestone.io.telling import telling
from tests.io.fuzz import seeds
from tests.io.fuzz.mutations import Mutation, any_bytes, footer, json_values, numbers, varints
from tests.io.fuzz.places import Bytes, in_memory

__all__ = ["LIBRARIES", "OURS", "TARGETS", "Target"]

MOST = 16 << 20
# Each chunk of an array that says it is large takes its time, though nothing of it is stored.
MAX_OF_CHUNKS = 1 << 16


class Target(ABC):
    """Something that reads what it is given, or says why it does not."""

    refused: tuple[type[Exception], ...]
    library: str | None = None
    samples: Callable[[], list[Any]]

    @cached_property
    def whole(self) -> list[Any]:
        """The files that are as they should be."""
        return self.samples()

    def keep(self, path: Path) -> None:
        """Take those that are kept under a path, or keep these: some have random names in them."""
        if path.exists():
            vars(self)["whole"] = pickle.loads(path.read_bytes())
        else:
            path.write_bytes(pickle.dumps(self.whole))

    @abstractmethod
    def file(self, dice: random.Random) -> Any:
        """Return a file that is not quite what it should be."""

    @abstractmethod
    def prepare(self) -> None:
        """Read the files that are as they should be, which also imports what is needed."""

    @abstractmethod
    def read(self, file: Any, dice: random.Random) -> None:
        """Read a file."""

    def tell(self, seed: int) -> bool:
        """Read the file of a seed; whether it could be. Any error but a refusal is a finding."""
        dice = random.Random(seed)
        file = self.file(dice)
        try:
            self.read(file, dice)
        except self.refused:
            return False
        except MemoryError as error:
            # It may be a large file; that which file it is, is all there is to say.
            if not getattr(error, "__notes__", ()):
                raise
            return False
        return True


def rows_of(found: Dataset, most: int = MOST) -> None:
    """Read the first rows of what was opened, as many as make so many bytes."""
    # A sparse matrix, or an empty one, may be large, which is not worth the memory here.
    if found.row_nbytes < most // 16:
        found.read(0, min(found.rows, 1000, int(most / max(found.row_nbytes, 1))))


@dataclass(frozen=True)
class Bytewise(Target):
    """A reader of bytes."""

    samples: Callable[[], list[bytes]]
    reader: Callable[[bytes, dict[str, Any]], None]
    refused: tuple[type[Exception], ...] = (FormatError,)
    library: str | None = None
    mutations: tuple[Mutation, ...] = (any_bytes, numbers)
    options: tuple[dict[str, Any], ...] = ({},)

    def file(self, dice: random.Random) -> bytes:
        """Return the bytes of a sample, changed in one of the ways."""
        return dice.choice(self.mutations)(dice, dice.choice(self.whole))

    def prepare(self) -> None:
        """Read the samples."""
        for sample in self.whole:
            self.reader(sample, self.options[0])

    def read(self, file: bytes, dice: random.Random) -> None:
        """Open them with some options, and read rows."""
        self.reader(file, dice.choice(self.options))


def by(
    module: Any, place_of: Callable[[bytes], FileLocation]
) -> Callable[[bytes, dict[str, Any]], None]:
    """Return what opens a file by a format."""

    def reader(content: bytes, options: dict[str, Any]) -> None:
        location = place_of(content)
        with telling(location.url):
            found = module.open_dataset(location, **options)
        rows_of(found)

    return reader


def offsets(content: bytes) -> FileLocation:
    """Return a file that is read by offsets."""
    return Bytes("x", content)


def own(module: Any, samples: Callable[[], list[bytes]], **options: Any) -> Bytewise:
    """Return a format of freestone's own."""
    return Bytewise(samples, by(module, offsets), options=(options,))


def _of_variable(name: str) -> Bytewise:
    # UsageError: a damaged header has no variable of this name.
    return replace(own(netcdf, seeds.netcdf3, variable=name), refused=(FormatError, UsageError))


def of_library(
    library: str, module: Any, samples: Callable[[], list[bytes]], *mutations: Mutation
) -> Bytewise:
    """Return a format that a library reads, by its path."""
    return Bytewise(
        samples,
        by(module, in_memory),
        # UsageError: what is to be read of it has to be said, such as one of two trees.
        (FormatError, UsageError),
        library,
        (any_bytes, numbers, numbers, *mutations),
        ({}, {}, {"kind": "array"}),
    )


def _meta(content: bytes, options: dict[str, Any]) -> None:
    parse_meta("x", content)


def _reported(content: bytes, options: dict[str, Any]) -> None:
    assert isinstance(_parsed("x", content.decode("latin1")), Layout)


def _layout(content: bytes, options: dict[str, Any]) -> None:
    assert isinstance(_decoded("x", content), Layout)


@dataclass(frozen=True)
class Folder(Target):
    """A Zarr array, of whose files one or two are changed."""

    samples: Callable[[], list[dict[str, bytes]]]
    library: str | None = "zarr"
    refused: tuple[type[Exception], ...] = (FormatError, UsageError, FileError)

    def prepare(self) -> None:
        """Read the samples."""
        for sample in self.whole:
            self.read(sample, random.Random(0))

    def file(self, dice: random.Random) -> dict[str, bytes]:
        """Return the files of a folder, of which most often what describes it is changed."""
        files = dict(dice.choice(self.whole))
        names = list(files)
        described = [name for name in names if name.endswith(("json", ".zarray"))]
        chosen = {dice.choice(described if dice.random() < 0.7 else names)}
        if dice.random() < 0.3:
            chosen.add(dice.choice(names))
        for name in sorted(chosen):
            change = json_values if name in described else dice.choice((any_bytes, numbers))
            files[name] = change(dice, files[name])
        return files

    def read(self, file: dict[str, bytes], dice: random.Random) -> None:
        """Open an array in memory, and read rows."""
        import zarr
        from zarr.core.buffer.cpu import Buffer
        from zarr.storage import MemoryStore

        store = {name: Buffer.from_bytes(content) for name, content in file.items()}
        opened = formats_zarr._open
        formats_zarr._open = lambda location: zarr.open_array(
            MemoryStore(store, read_only=True), mode="r"
        )
        try:
            with telling("x.zarr"):
                found = formats_zarr.open_dataset(Bytes("x.zarr"))
            rows_of(found, MAX_OF_CHUNKS)
        finally:
            formats_zarr._open = opened


def folders() -> list[dict[str, bytes]]:
    """Return arrays of both versions of the format, packed in several ways."""
    from zarr.codecs import BloscCodec

    return [
        seeds.zarr(3),
        seeds.zarr(3, compressors=None, filters=None),
        seeds.zarr(3, compressors=BloscCodec(), shards=(4, 2)),
        seeds.zarr(2, compressors=None),
        seeds.zarr(2),
    ]


META = (
    b'{"numRows": 3, "numCols": 2, "numNonZeros": 3, "schema": '
    b'[{"label": "a", "valueType": "f64"}, {"label": "b", "valueType": "str"}]}'
)
LAYOUTS = [b"\xd0\x0b\xd1\x0b" + bytes(92), b"\xd0\x0b\xd3\x0b" + bytes(92)]
LAYOUT = b"lmm_stripe_count: 2\nlmm_stripe_size: 65536\n\t 3\t 2\t 0x2\n"
TEXTS = [b"1,2\n3,4\n", b'a,"b\nc"\n1,x\n', b"1.5,nan\n-inf,1e5\n"]
OURS: dict[str, Target] = {
    "csv": own(csv, lambda: TEXTS, index=False),
    "csv-triples": own(csv, lambda: [b"0,1,2.5\n2,0,1\n"], index=False, sparse=True, shape=(3, 2)),
    "dbdf": own(dbdf, lambda: seeds.written(dbdf)),
    "mtx": own(mtx, lambda: seeds.written(mtx)),
    "npy": own(npy, seeds.npy),
    "netcdf3": _of_variable("v"),
    "netcdf3-times": _of_variable("time"),
    "netcdf3-texts": _of_variable("name"),
    "meta": Bytewise(lambda: [META], _meta, mutations=(any_bytes, json_values)),
    "layout": Bytewise(lambda: LAYOUTS, _layout, (FileError,)),
    "layout-text": Bytewise(lambda: [LAYOUT], _reported, (FileError,)),
}
"""Readers that are freestone's own."""

LIBRARIES: dict[str, Target] = {
    "parquet": of_library(
        "pyarrow",
        parquet,
        seeds.parquet,
        varints,
        footer(numbers, b"PAR1"),
        footer(varints, b"PAR1"),
    ),
    "arrow": of_library("pyarrow", arrow, seeds.arrow, footer(numbers, b"ARROW1")),
    "avro": Bytewise(
        seeds.avro,
        by(avro, offsets),
        library="fastavro",
        mutations=(any_bytes, numbers, varints),
    ),
    "tdms": of_library("nptdms", tdms, seeds.tdms),
    "root": of_library("uproot", root, seeds.root),
    "rntuple": of_library("uproot", root, seeds.rntuple),
    "zarr": Folder(folders),
}
"""Readers that stand around a library."""

TARGETS = {**OURS, **LIBRARIES}
