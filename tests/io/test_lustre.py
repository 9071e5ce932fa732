"""Lustre without Lustre: an injected `lfs`, and a library built here, that record their calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FileError, UsageError
from freestone.io.stores import locate, lustre
from freestone.io.stores.lustre import Layout, LustreLocation, layout_of

LFS = """#!/bin/sh
echo "$@" >> {log}
for path; do :; done
case "$1" in
setstripe) case "$path" in *refused*) echo "no such pool" >&2; exit 22;; esac; : > "$path" ;;
getstripe) cat <<END
$path
lmm_stripe_count:  2
lmm_stripe_size:   65536
lmm_pattern:       raid0
lmm_stripe_offset: 3
lmm_pool:          flash
\tobdidx\t\t objid\t\t objid\t\t group
\t     3\t             2\t          0x2\t             0
\t     1\t             5\t          0x5\t             0
END
;;
esac
"""
STUB = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
int llapi_file_open_pool(const char *name, int flags, int mode, unsigned long long size,
                         int offset, int count, int pattern, char *pool) {
    FILE *log = fopen("%s", "a");
    fprintf(log, "open %%llu %%d %%d %%d %%s\n", size, offset, count, pattern, pool ? pool : "-");
    fclose(log);
    if (pool && strcmp(pool, "none") == 0) return -EINVAL;
    return open(name, flags, mode);
}
int llapi_file_get_stripe(const char *path, void *layout) {
    unsigned char *to = layout;
    memset(to, 0, 96);
    *(unsigned *)to = 0x0BD30BD0;
    *(unsigned *)(to + 24) = 65536;
    *(unsigned short *)(to + 28) = 2;
    strcpy((char *)to + 32, "flash");
    *(unsigned *)(to + 48 + 20) = 3;
    *(unsigned *)(to + 72 + 20) = 1;
    return 0;
}
"""
FOUND = Layout(stripe_count=2, stripe_size=65536, pool="flash", targets=(3, 1))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/x / ext4 rw 0 0\n10.0.0.1@tcp:/scratch {tmp_path} lustre rw 0 0\n")
    monkeypatch.setattr(lustre, "MOUNTS", str(mounts))
    monkeypatch.setattr(lustre, "LIBRARIES", ("libnone.so",))
    return tmp_path / "log"


@pytest.fixture
def by_lfs(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "lfs"
    program.parent.mkdir()
    program.write_text(LFS.format(log=log))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return log


@pytest.fixture
def by_library(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "stub.c", tmp_path / "liblustreapi.so"
    source.write_text(STUB % log)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setattr(lustre, "LIBRARIES", (str(library),))
    return log


def test_striped_by_lfs(by_lfs: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(3000, 5))
    fs.write(x, tmp_path / "m.csv", stripe_count=4, stripe_size="64KiB", pool="flash")
    words = by_lfs.read_text().split()
    assert words[:7] == ["setstripe", "-c", "4", "-S", "65536", "-p", "flash"]
    np.testing.assert_array_equal(fs.read(tmp_path / "m.csv").compute(), x)
    assert layout_of(str(tmp_path / "m.csv")) == FOUND


def test_striped_by_the_library(by_library: Path, tmp_path: Path) -> None:
    x = np.arange(60_000.0).reshape(-1, 6)
    fs.write(x, tmp_path / "m.dbdf", stripe_count=-1, stripe_size=1 << 17)
    assert by_library.read_text() == "open 131072 -1 -1 0 -\n"
    np.testing.assert_array_equal(fs.read(tmp_path / "m.dbdf").compute(), x)
    assert layout_of(str(tmp_path / "m.dbdf")) == FOUND


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The offset and the length of each call that writes."""
    found: list[tuple[int, int]] = []
    write = os.pwrite

    def recorded(descriptor: int, data: memoryview, offset: int) -> int:
        found.append((offset, len(data)))
        return write(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", recorded)
    return found


def test_no_call_crosses_a_stripe(
    by_lfs: Path, tmp_path: Path, calls: list[tuple[int, int]]
) -> None:
    location = LustreLocation(str(tmp_path / "m.bin"), Layout(stripe_count=2, stripe_size=1 << 16))
    draft = location.create(None)
    content = bytes(range(256)) * 1000
    draft.write_at(content, 1000)
    draft.commit()
    assert (tmp_path / "m.bin").read_bytes() == bytes(1000) + content
    assert len(calls) == 4
    assert all(offset // 65536 == (offset + count - 1) // 65536 for offset, count in calls)


def test_stripes_of_the_folder_are_kept_to_as_well(
    by_lfs: Path, tmp_path: Path, calls: list[tuple[int, int]]
) -> None:
    x = np.random.default_rng(1).normal(size=(40_000, 5))
    fs.write(x, tmp_path / "m.dbdf", meta=False)
    assert sum(count for _, count in calls) > x.nbytes
    assert all(offset // 65536 == (offset + count - 1) // 65536 for offset, count in calls)
    fs.write(x, tmp_path / "m.csv", stripe_count=3)
    np.testing.assert_array_equal(fs.read(tmp_path / "m.csv").compute(), x)
    asked = [line.split()[0] for line in by_lfs.read_text().splitlines()]
    assert asked.count("setstripe") == 1


COMPONENTS = """m
  lcm_layout_gen:    2
  lcm_entry_count:   2
    lcme_id:             1
      lmm_stripe_count:  1
      lmm_stripe_size:   1048576
      lmm_objects:
      - 0: { l_ost_idx: 0, l_fid: [0x100000000:0x2:0x0] }
"""


def test_a_layout_of_components_is_left_to_the_file_system(
    by_lfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "lfs"
    program.write_text(f"#!/bin/sh\ncat <<END\n{COMPONENTS}END\n")
    x = np.random.default_rng(1).normal(size=(3000, 5))
    with pytest.raises(FileError, match="several components"):
        layout_of(str(tmp_path / "m.dbdf"))
    fs.write(x, tmp_path / "m.dbdf")
    np.testing.assert_array_equal(fs.read(tmp_path / "m.dbdf").compute(), x)
    location = locate(tmp_path / "m.dbdf")
    assert (location.unit, location.hosts(0, 100)) == (1, [])


def test_a_program_that_cant_be_run_is_reported(by_lfs: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "lfs").write_text("no program\n")
    with pytest.raises(FileError, match="can't be striped"):
        layout_of(str(tmp_path / "m.csv"))


def test_mounts_with_blanks_and_on_top_of_others(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    shown = str(folder).replace(" ", "\\040")
    mounts = tmp_path / "mounts"
    mounts.write_bytes(f"/x / ext4 rw 0 0\no {shown} lustre rw 0 0\nodd\n".encode() + b"/\xff\n")
    assert lustre.is_lustre(str(folder / "m.csv"))
    assert not lustre.is_lustre(str(tmp_path / "m.csv"))
    with open(mounts, "a") as file:
        file.write(f"/y {shown} ext4 rw 0 0\n")
    assert not lustre.is_lustre(str(folder / "m.csv"))


def test_no_read_crosses_a_stripe(
    by_lfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(1).normal(size=(40_000, 5))
    fs.write(x, tmp_path / "m.dbdf")
    calls: list[tuple[int, int]] = []
    read = os.preadv

    def recorded(descriptor: int, views: list[memoryview], offset: int) -> int:
        calls.append((offset, sum(map(len, views))))
        return read(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", recorded)
    np.testing.assert_array_equal(fs.read(tmp_path / "m.dbdf").compute(), x)
    assert sum(count for _, count in calls) >= x.nbytes
    assert all(offset // 65536 == (offset + count - 1) // 65536 for offset, count in calls)


def test_each_target_is_read_by_one_worker(
    by_lfs: Path, tmp_path: Path, two_workers: fs.Cluster
) -> None:
    x = np.random.default_rng(1).normal(size=(40_000, 4))
    path = tmp_path / "m.npy"
    np.save(path, x)
    location = locate(str(path))
    assert isinstance(location, LustreLocation)
    assert location.hosts(0, 65536) == ["ost-3"]
    assert location.hosts(65536, 65537) == ["ost-1"]
    assert location.hosts(65530, 65536 * 2) == ["ost-1"]
    assert location.hosts(65536, 65536 * 3) == []
    # 32 bytes a row: a block is a stripe, but for the header.
    array = fs.read(path, block_rows=2048).persist()
    found = array.where()
    assert found == [found[number % 2] for number in range(20)]
    assert found[0] != found[1]
    np.testing.assert_array_equal(array.compute(), x)


def test_what_cant_be_striped_is_reported(by_lfs: Path, tmp_path: Path) -> None:
    x = np.ones((2, 2))
    with pytest.raises(FileError, match="lfs says 'no such pool'"):
        fs.write(x, tmp_path / "refused.csv", stripe_count=2)
    assert not (tmp_path / "refused.csv").exists()
    with pytest.raises(UsageError, match="multiple of 65,536"):
        fs.write(x, tmp_path / "m.csv", stripe_size=1000)
    with pytest.raises(UsageError, match="stripe_count='many': it is -1"):
        fs.write(x, tmp_path / "m.csv", stripe_count="many")
    with pytest.raises(UsageError, match="not on Lustre"):
        fs.write(x, "/elsewhere/m.csv", stripe_count=2)


def test_a_pool_that_the_library_refuses(by_library: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="Invalid argument"):
        fs.write(np.ones((2, 2)), tmp_path / "m.csv", pool="none")


def test_without_either_it_says_so(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileError, match="neither liblustreapi nor lfs"):
        fs.write(np.ones((2, 2)), tmp_path / "m.csv", stripe_count=2)
