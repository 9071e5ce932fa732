"""The store passes freestone's kit, and workers read from it."""

from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import UsageError
from freestone.testing import check_store


def test_the_store_passes_the_kit(tmp_path: Path) -> None:
    check_store(f"sqlite://{tmp_path}/files.db/folder")


def test_workers_read_files(tmp_path: Path) -> None:
    x = np.arange(30.0).reshape(10, 3)
    fs.write(x, f"sqlite://{tmp_path}/files.db/x.csv")
    with fs.Cluster(workers=2):
        found = fs.read(f"sqlite://{tmp_path}/files.db/x.csv", block_rows=3)
        assert (found.compute() == x).all()


def test_a_url_without_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="names no file"):
        fs.read("sqlite:///data/files.csv")
