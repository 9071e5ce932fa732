"""What is wrong with a file is told with its name and place by two workers, too."""

from __future__ import annotations

from pathlib import Path

import pytest

import freestone as fs
from freestone.errors import FormatError
from tests.io.bad import BAD, check, put


@pytest.mark.parametrize("scheme", ["", "local://"])
@pytest.mark.parametrize("name", BAD)
def test_it_is_reported(two_workers: fs.Cluster, tmp_path: Path, name: str, scheme: str) -> None:
    if scheme:
        pytest.importorskip("fsspec")
    check(BAD[name], f"{scheme}{put(tmp_path, BAD[name])}")


def test_more_blocks_than_can_be_are_refused(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{2**60} 1 1\n1 1 1\n")
    with pytest.raises(FormatError, match=r"m\.mtx.*the most; say a larger block_rows"):
        fs.read(path)
