"""Many files as one collection."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from freestone.client import Client, current
from freestone.collections.array import Array
from freestone.collections.blocking import offsets_of
from freestone.collections.frame import Frame
from freestone.collections.making import Spec
from freestone.collections.placing import dealt
from freestone.collections.sources import made_of
from freestone.errors import FileChangedError, FormatError, UsageError
from freestone.io.formats import format_of
from freestone.io.formats.tables import repeated
from freestone.io.many import (
    Found,
    Joined,
    Part,
    Piece,
    Planned,
    Request,
    as_expression,
    check_there_are,
    columns_of,
    cut_into_blocks,
    describe,
    find_files,
    join_parts,
    key_types,
    left_by_folders,
    may_name,
    narrowed,
    not_excluded,
    split_tree,
)
from freestone.io.open_once import kept_open
from freestone.io.stores import locate
from freestone.io.telling import telling
from freestone.storage.meters import Meter, metered

__all__ = ["BLOCK_NBYTES", "MAX_BLOCKS", "FileScan", "checked_columns", "read_many", "with_tree"]

F = TypeVar("F", Found, Part)
# A smaller file is not cut for the cores of this process: to open it takes longer than its rows.
MIN_CUT_NBYTES = 4 << 20
# Executors keep memory that they have used before for smaller arrays only: see `memory.rs`.
BLOCK_NBYTES = 30 << 20
# A header of a few bytes can say any number of rows.
MAX_BLOCKS = 1 << 20
# Files that one call looks at, at most: what it returns is small, and a slow store has its turn.
LOOKED_AT = 64


def with_tree(url: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return files without the tree in ``f.root:Events``, and that as the option `tree`.

    Raises
    ------
    UsageError
        When two trees are named.
    """
    if isinstance(url, str | os.PathLike):
        paths, trees = _without_trees([url])
        url = paths[0]
    elif isinstance(url, Sequence) and not isinstance(url, bytes):
        url, trees = _without_trees(url)
    else:
        return url, options
    trees |= {options["tree"]} if trees and options.get("tree") is not None else set()
    if len(trees) > 1:
        one, other = sorted(trees)[:2]
        raise UsageError(f"the trees {one!r} and {other!r} are both asked for; read them apart")
    return url, options | ({"tree": trees.pop()} if trees else {})


def _without_trees(paths: Sequence[Any]) -> tuple[list[Any], set[str]]:
    found, trees = [], set()
    for path in paths:
        tree = None
        if isinstance(path, str):
            path, tree = split_tree(path)
        found.append(path)
        trees |= set() if tree is None else {tree}
    return found, trees


def checked_columns(columns: Any) -> tuple[str, ...] | None:
    """Return the names of columns, each once.

    Raises
    ------
    UsageError
        When they are none.
    """
    if columns is None:
        return None
    names = tuple(columns) if not isinstance(columns, str) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise UsageError(f"columns={columns!r}: it is a list of names, such as ['x', 'y']")
    twice = repeated(names)
    if twice is not None:
        raise UsageError(f"columns={columns!r}: {twice!r} is there twice")
    return names


def read_many(
    what: Any, request: Request, block_rows: int | None, progress: bool | None
) -> Array | Frame:
    """Read the rows of some files that are wanted: `freestone.read`, once its options are checked.

    Notes
    -----
    This program lists the files, and looks at the first one if there is a predicate. The workers
    look at the others, and read them.
    """
    files = find_files(what, format=request.format)
    client = current()
    if client is not None and not locate(files[0].url).is_shared:
        client = None
    request, name = replace(request, key_types=key_types(files)), _name_of(what, files)
    if client is None:
        return _read_here(files, request, block_rows, name, progress)
    request, parts = _looked_at(files, request, client)
    joined = join_parts(parts, request)
    made: Array | Frame
    if joined.kind == "frame" and any(part.dataset.is_columnar for part in parts):
        blocks = _planned(parts, joined, block_rows, client.slots)
        offsets = None if joined.where is not None else offsets_of([each.rows for each in blocks])
        read = functools.partial(_there, parts, joined, block_rows, name, progress, client)
        scan = FileScan(client, read, files, request, parts, block_rows, name, progress)
        frame = Frame([], offsets, name=name, schema=_schema_of(joined))
        frame._scan, made = scan, frame
    else:
        made = _there(parts, joined, block_rows, name, progress, client)
    made.found = _found_in(parts)
    return made


def _read_here(
    files: Sequence[Found],
    request: Request,
    block_rows: int | None,
    name: str,
    progress: bool | None,
) -> Array | Frame:
    """Read files in this process, which opens a single one once for all that it asks of it."""
    with kept_open() if len(files) == 1 else contextlib.nullcontext():
        request, parts = _looked_at(files, request, None)
        made = _here(parts, join_parts(parts, request), block_rows, name, progress)
    made.found = _found_in(parts)
    return made


def _looked_at(
    files: Sequence[Found], request: Request, client: Client | None
) -> tuple[Request, list[Part]]:
    """Look at those files that may have what is wanted, or at one, so that the schema is known.

    Notes
    -----
    What folders alone exclude is not opened, and has no part in the schema.
    """
    if request.where is None and (not request.fills or request.columns is None):
        return request, _described(files, request, client)
    # If a file may lack columns, or has none, all have to be asked which there are.
    bare = replace(request, columns=None, where=None)
    files = left_by_folders(files, request) or files[:1]
    known = describe(files[:1], bare)
    if request.fills or known[0].dataset.untyped or known[0].is_bare:
        known = _described(files, bare, client)
    asked = request
    request, wanted = _narrowed(files, known, asked)
    if wanted and wanted[0] is not files[0]:
        # The types are those of a file that is not wanted.
        return _looked_at(wanted, asked, client)
    chosen = wanted or files[:1]
    first = [narrowed(known[0], request)] if chosen[0] is files[0] else []
    parts = [*first, *_described(chosen[len(first) :], request, client)]
    return request, parts if wanted else [replace(parts[0], ranges=())]


def _schema_of(joined: Joined) -> Any:
    return joined.schema.empty_table().select(list(joined.columns)).schema


@dataclass(frozen=True)
class FileScan:
    """Files of which it is known what they hold, and of which no row is read yet.

    `whole` has all of them read; the rest is what `read_many` knows of them.
    """

    client: Client
    whole: Callable[[], Any]
    files: Sequence[Found]
    request: Request
    parts: Sequence[Part]
    block_rows: int | None
    name: str
    progress: bool | None

    def read(self) -> Frame:
        """Have all rows and columns read."""
        self.client.require_open(f"read {self.name!r}")
        made = self.whole()
        assert isinstance(made, Frame)
        return made

    def narrow(self, columns: Sequence[str], where: Any) -> Frame:
        """Have some columns read, of rows of which a predicate is true, or of all.

        Notes
        -----
        With a predicate, the workers look at those files again that say which parts of them may
        have such rows.
        """
        self.client.require_open(f"read {self.name!r}")
        asked = self.request.where
        both = where if asked is None else asked if where is None else asked & where
        request = replace(self.request, columns=tuple(columns), where=both)
        if both is None:
            parts: Sequence[Part] = [_selected(part, request.columns or ()) for part in self.parts]
        elif any(part.dataset.has_bounds for part in self.parts):
            request, parts = _looked_at(self.files, request, self.client)
            self._check_unchanged(parts)
        else:
            request, wanted = _narrowed(self.parts, self.parts, request)
            parts = [narrowed(part, request) for part in wanted or self.parts[:1]]
            parts = parts if wanted else [replace(parts[0], ranges=())]
        joined = join_parts(parts, request)
        made = _there(parts, joined, self.block_rows, self.name, self.progress, self.client)
        assert isinstance(made, Frame)
        return made

    def _check_unchanged(self, parts: Sequence[Part]) -> None:
        stamps = {part.dataset.location.url: part.dataset.stamp for part in self.parts}
        for part in parts:
            url = part.dataset.location.url
            if part.dataset.stamp != stamps.get(url, part.dataset.stamp):
                raise FileChangedError(url, "its size or time of change differs")


def _selected(part: Part, columns: Sequence[str]) -> Part:
    """Return what a file gives of some columns; a column of its own is read in any case."""
    asked = {*columns}
    names = tuple(name for name in part.dataset.columns if name in asked)
    kept = part.schema.empty_table().select(list(names)).schema
    dataset = part.dataset.select(names or tuple(part.dataset.columns[:1]))
    return replace(part, dataset=dataset, schema=kept)


def _found_in(parts: Sequence[Part]) -> dict[str, Any]:
    """Return what was found in the text of files; a tuple where they differ."""
    found: dict[str, dict[Any, None]] = {}
    for part in parts:
        for name, value in part.dataset.found:
            found.setdefault(name, {})[value] = None
    return {name: (*each,) if len(each) > 1 else next(iter(each)) for name, each in found.items()}


def _narrowed(
    files: Sequence[F], known: Sequence[Part], request: Request
) -> tuple[Request, list[F]]:
    """Find out which columns a predicate needs, and which files it leaves by their folders."""
    bare = replace(request, columns=None, where=None, fills=True)
    schema = join_parts([_of_interest(part, request) for part in known], bare).schema
    if schema is None:
        return request, list(files)
    if request.fills:
        check_there_are(request.columns or (), schema.names, known)
    if request.where is None:
        return request, list(files)
    where = as_expression(request.where, schema)
    tested = columns_of(where, schema, known[0].dataset.location.url)
    request = replace(request, where=where, tested=tested)
    return request, not_excluded(files, request, schema)


def _of_interest(part: Part, request: Request) -> Part:
    """Return a part whose columns that nobody asks for have no type, so that they go with all."""
    import pyarrow as pa

    if request.columns is None or part.schema is None:
        return part
    fields = [
        field
        if field.name in request.columns or may_name(request.where, field.name)
        else field.with_type(pa.null())
        for field in part.schema
    ]
    return replace(part, schema=pa.schema(fields))


def _described(files: Sequence[Found], request: Request, client: Client | None) -> list[Part]:
    """Look at files, each where a worker is free."""
    if client is None or not files:
        return describe(files, request)
    each = min(-(-len(files) // (2 * max(client.slots, 1))), LOOKED_AT)
    starts = range(0, len(files), each)
    calls = [(list(files[start : start + each]), request) for start in starts]
    # Who will read a file keeps its footer; text is counted where a worker is free.
    is_tied = not _is_counted(files[0], request)
    places = dealt(client, offsets_of([len(some) for some, _ in calls]))
    runs: dict[int | None, list[Any]] = {}
    for place, call in zip(places, calls, strict=True):
        runs.setdefault(place if is_tied else None, []).append(call)
    # A file may be another one each time.
    options = {"name": "files", "pure": False}
    futures = [
        future
        for worker, run in runs.items()
        for future in client.map(describe, run, {"near": worker, **options})
    ]
    return list(itertools.chain.from_iterable(future.result() for future in futures))


def _is_counted(found: Found, request: Request) -> bool:
    """Tell whether all of a file is read to see what it holds; who opens it finds no format."""
    with contextlib.suppress(UsageError):
        return format_of(locate(found.url).name, request.format).passes > 1
    return False


def _name_of(what: Any, files: Sequence[Found]) -> str:
    if isinstance(what, str | os.PathLike):
        return os.fspath(what).rstrip("/").rsplit("/", 1)[-1]
    return locate(files[0].url).name if len(files) == 1 else f"{len(files)} files"


def _planned(
    parts: Sequence[Part],
    joined: Joined,
    block_rows: int | None,
    slots: int,
    at_least: int = 0,
) -> list[Planned]:
    sizes = [
        (stop - start) * part.dataset.row_nbytes for part in parts for start, stop in part.ranges
    ]
    nbytes = min(BLOCK_NBYTES, max(sum(sizes) / max(slots, 1), at_least))
    rows = sum(stop - start for part in parts for start, stop in part.ranges)
    if block_rows is not None and rows / block_rows > MAX_BLOCKS:
        raise FormatError(
            parts[0].dataset.location.url,
            f"{rows:,} rows would be {rows // block_rows:,} blocks of {block_rows:,}, and "
            f"{MAX_BLOCKS:,} is the most; say a larger block_rows, if no file is damaged",
        )
    blocks = cut_into_blocks(parts, nbytes=nbytes, block_rows=block_rows)
    if joined.kind == "array" and not blocks[0].pieces:
        # No rows, of the shape and dtype that the files say.
        blocks[0].add(Piece(parts[0].dataset, (), 0, 0))
    return blocks


def _here(
    parts: Sequence[Part],
    joined: Joined,
    block_rows: int | None,
    name: str,
    progress: bool | None,
) -> Array | Frame:
    """Read all rows in this process: one block, or several where a cluster is to have them."""
    cores = len(os.sched_getaffinity(0))
    is_alone = current() is None
    if is_alone:
        blocks = _planned(parts, joined, None, cores, MIN_CUT_NBYTES)
    else:
        blocks = _planned(parts, joined, block_rows, cores)
    with metered(f"read {name}", Meter.of_reads(sum(map(_file_nbytes, blocks))), progress):
        if len(blocks) == 1:
            found = [joined.read(blocks[0].pieces, threads=cores)]
        else:
            with ThreadPoolExecutor(cores) as pool:
                found = list(pool.map(lambda block: joined.read(block.pieces), blocks))
    kind = Frame if joined.kind == "frame" else Array
    return kind._from_own([joined.together(found)] if is_alone else found, name=name)


def _there(
    parts: Sequence[Part],
    joined: Joined,
    block_rows: int | None,
    name: str,
    progress: bool | None,
    client: Client,
) -> Array | Frame:
    """Have each block read by a worker, if that matters by one where its bytes are."""
    blocks = _planned(parts, joined, block_rows, client.slots)
    is_frame = joined.kind == "frame"
    spec = Spec(
        collection=name,
        kind=joined.kind,
        columns=None if is_frame else joined.row,
        dtype=None if is_frame else joined.dtype,
    )
    counts = [block.rows if joined.where is None else None for block in blocks]
    weights = offsets_of([int(block.nbytes) + 1 for block in blocks])
    given = [block.pieces for block in blocks]
    pieces = made_of(spec, joined.read, counts, given, weights, _hosts(blocks, client))
    offsets = None if joined.where is not None else offsets_of([block.rows for block in blocks])
    if is_frame:
        found: Array | Frame = Frame(pieces, offsets, name=name, schema=_schema_of(joined))
    else:
        found = Array(pieces, offsets, name=name, columns=joined.row, dtype=joined.dtype)
    meter = Meter(sum(map(_file_nbytes, blocks)))
    for piece, block in zip(pieces, blocks, strict=True):
        meter.add(piece, _file_nbytes(block))
    found._waiting = functools.partial(metered, f"read {name}", meter, progress)
    return found


def _file_nbytes(block: Planned) -> int:
    """Return how many bytes of files a block is made of, about."""
    shares = [
        (piece.stop - piece.start) / max(piece.dataset.rows, 1) * piece.dataset.nbytes
        for piece in block.pieces
    ]
    return int(sum(shares))


def _hosts(blocks: Sequence[Planned], client: Client) -> list[list[str]]:
    """Return what holds the first rows of each block; nothing where all workers reach it alike."""
    found: list[list[str]] = []
    machines = {worker.host for worker in client.statistics().workers}
    for block in blocks:
        piece = block.pieces[0] if block.pieces else None
        if piece is None or (piece.dataset.location.by_host and len(machines) < 2):
            found.append([])
        else:
            with telling(piece.dataset.location.url):
                found.append(piece.dataset.where(piece.start, piece.stop))
    return found
