"""No bytes make a reader fail in a way of its own: they are read, or refused by a FormatError.

Random ones are tried by `tests.fuzz`; here is what those found.
"""

from __future__ import annotations

import contextlib
import io
import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from freestone.errors import FileError, FormatError, UsageError
from freestone.io import open_dataset
from freestone.io.formats import arrow, root, tdms
from freestone.io.formats.meta import parse_meta
from tests.io.fuzz import seeds
from tests.io.fuzz.mutations import any_bytes
from tests.io.fuzz.places import in_memory
from tests.io.fuzz.targets import folders

ROUNDS = 15


@pytest.mark.filterwarnings("ignore")
def test_what_zarr_says_of_a_folder_on_disk_is_a_format_error(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    for number, files in enumerate(folders()):
        for seed in range(ROUNDS):
            dice, folder = random.Random(seed), tmp_path / f"{number}-{seed}.zarr"
            changed = dice.choice(sorted(files))
            for name, content in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(any_bytes(dice, content) if name == changed else content)
            with contextlib.suppress(FormatError, UsageError, FileError):
                found = open_dataset(folder)
                found.read(0, min(found.rows, 4))


@pytest.mark.parametrize(
    "printed",
    [
        b'"numNonZeros": [1]',
        b'"numNonZeros": 1.5',
        b'"valueType": ["f64"]',
        b'"schema": 3',
        b'"hdfs": [1]',
        b'"schema": [{"label": "a", "valueType": [1]}]',
        b'"a": ' + b"[" * 100_000,
    ],
)
def test_a_meta_of_other_types_is_refused(printed: bytes) -> None:
    with pytest.raises(FormatError):
        parse_meta("x", b'{"numRows": 3, "numCols": 1, ' + printed + b"}")


def test_names_that_are_no_text_are_refused() -> None:
    file = io.BytesIO()
    table = pa.table({"qwertz": [1, 2]})
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FormatError, match="utf-8"):
        arrow.open_dataset(in_memory(file.getvalue().replace(b"qwertz", b"\xc1wertz")))


def test_more_scales_than_are_described_are_refused() -> None:
    """They were looked for one by one."""
    tdms_of = pytest.importorskip("nptdms")
    file = io.BytesIO()
    channel = tdms_of.ChannelObject("g", "c", [1.0], properties={"NI_Number_Of_Scales": 2**30})
    with tdms_of.TdmsWriter(file) as writer:
        writer.write_segment([channel])
    with pytest.raises(FormatError, match="NI_Number_Of_Scales is 1073741824, and there are 1"):
        tdms.open_dataset(in_memory(file.getvalue()))


def test_a_damaged_description_of_an_rntuple_is_refused() -> None:
    """It said that there were billions of fields, which the library read one by one."""
    pytest.importorskip("uproot")
    content = seeds.rntuple()[0]
    assert content.count(b"std::int32_t") == 1
    with pytest.raises(FormatError, match="is not what its checksum says"):
        root.open_dataset(in_memory(content.replace(b"std::int32_t", b"std::int33_t")))


def test_a_basket_that_says_it_is_larger_than_its_branch_is_refused() -> None:
    """Room was made for a gigabyte, and touched."""
    uproot = pytest.importorskip("uproot")
    content = bytearray(seeds.root()[0])
    with uproot.open(io.BytesIO(content)) as file:
        (name,) = file.keys(cycle=False)
        (at, *_) = file[name].branches[0].member("fBasketSeek")
    content[at + 6 : at + 10] = struct.pack(">i", 1 << 30)
    with pytest.raises(FormatError, match=f"byte {at:,}: basket 0 of .* to 1,073,741,824 bytes"):
        root.open_dataset(in_memory(bytes(content))).read(0, 1)
