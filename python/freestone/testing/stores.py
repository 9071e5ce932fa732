"""The kit for stores."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np

from freestone.io import Draft, FileLocation, read_values
from freestone.io.stores import locate
from freestone.storage import read, write
from freestone.testing.expecting import expect, expect_equal, expecting_no_error

__all__ = ["check_store"]

OLD = b"what was there before"
CONTENT = bytes(np.random.default_rng(7).integers(0, 256, 5_000, np.uint8))


def check_store(folder: str) -> None:
    """Check a store: files are written whole or not at all, read at any offset, and have versions.

    Parameters
    ----------
    folder
        A URL, or path, in which files can be made, and where there are none yet; names are added
        behind a slash.

    Raises
    ------
    AssertionError
        If a file is seen before it is whole, bytes or versions differ, or a file that is not there
        is no `OSError`; it names the file and the step.

    Notes
    -----
    A store that is only read has no kit. Whether `write_bytes` and `upload` put a file there at
    once is not seen from one process: that a reader never finds half of one is yours to check.
    """
    base = folder.rstrip("/")
    location = locate(f"{base}/file.bin")
    with expecting_no_error(f"a file of {type(location).__name__}"):
        _check_names(location)
        _check_absence(location)
        _check_content(location)
        _check_absence(location)
        _check_drafts(location)
        _check_arrays(f"{base}/array.npy")
        location.remove()


def _check_names(location: FileLocation) -> None:
    expect(isinstance(location, FileLocation), f"{location!r} is no FileLocation")
    expect(location.name == "file.bin", f"its name is {location.name!r}, and not 'file.bin'")
    beside = location.beside(".meta")
    expect(beside.name == "file.bin.meta", f"beside('.meta') is called {beside.name!r}")
    copy = pickle.loads(pickle.dumps(location))
    expect(copy == location, f"a pickled copy is {copy!r}, and not {location!r}")


def _check_absence(location: FileLocation) -> None:
    location.remove()
    expect(not location.exists(), "a file that was removed exists")
    try:
        stamp = location.stamp()
    except OSError:
        return
    raise AssertionError(f"the stamp of a file that is not there is {stamp!r}, and no OSError")


def _check_content(location: FileLocation) -> None:
    location.write_bytes(OLD)
    old = location.stamp()
    location.write_bytes(CONTENT)
    expect(location.exists(), "a file that was written does not exist")
    stamp = _check_is(location, CONTENT)
    expect(stamp == location.stamp(), "two stamps of one version differ")
    location.write_bytes(CONTENT[::-1])
    expect(location.stamp() not in (old, stamp), "the stamp of another version is the same")
    hosts = location.hosts(0, len(CONTENT), location.stamp())
    is_list = type(hosts) is list and all(type(host) is str for host in hosts)
    expect(is_list, f"hosts() says {hosts!r}, and no list of names")


def _check_is(location: FileLocation, content: bytes) -> tuple[object, ...]:
    """Check what a file holds, read in every way."""
    stamp = location.stamp()
    expect(stamp[0] == len(content), f"the stamp {stamp!r} does not begin with {len(content)}")
    expect(location.read_bytes() == content, "read_bytes() returns something else than was written")
    source = location.source(stamp)
    for start, stop in ((0, len(content)), (0, 0), (1, 4), (len(content) - 3, len(content))):
        found = read_values(source, start, (stop - start,), np.uint8)
        problem = f"bytes {start}:{stop} of its source are others than were written"
        expect(found.tobytes() == content[start:stop], problem)
    return stamp


def _check_drafts(location: FileLocation) -> None:
    """Write at offsets, or else a file of this machine, over a file that is there."""
    location.write_bytes(OLD)
    draft = location.create(len(CONTENT))
    if draft is None:
        expect(not location.random, "random is True, and create() returns no draft")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            path.write_bytes(CONTENT)
            location.upload(str(path))
        _check_is(location, CONTENT)
        return
    _fill(location, draft)
    expect(location.read_bytes() == OLD, "a draft is seen before it is committed")
    draft.abandon()
    expect(location.read_bytes() == OLD, "a draft that was abandoned changed the file")
    draft = location.create(len(CONTENT))
    assert draft is not None
    _fill(location, draft)
    draft.commit()
    _check_is(location, CONTENT)


def _fill(location: FileLocation, draft: Draft) -> None:
    """Write the pieces in the wrong order, and as other processes do where they can."""
    if location.random:
        draft = pickle.loads(pickle.dumps(draft))
    for start in (3_000, 0, 1_000):
        stop = {3_000: 5_000, 0: 1_000, 1_000: 3_000}[start]
        draft.write_at(memoryview(CONTENT)[start:stop], start)


def _check_arrays(url: str) -> None:
    x = np.arange(30.0).reshape(10, 3)
    write(x, url)
    expect_equal(read(url).compute(), x, f"{url}: rows that were written")
    locate(url).remove()
