"""Files of those who may not do everything, with no cluster open: its cache would be root's."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FileUnreadableError
from tests.io.table import FORMATS, LIBRARIES, need

KINDS = [kind for kind in FORMATS if kind != "feather"]
X = np.random.default_rng(3).normal(size=(600, 4))


@pytest.fixture
def somebody() -> Iterator[Path]:
    """A folder of somebody who may not do everything."""
    with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
        is_root = os.geteuid() == 0
        path = Path(folder) / "theirs"
        path.mkdir()
        for kind in KINDS:
            if kind in LIBRARIES and not find_spec(LIBRARIES[kind]):
                continue
            # Imports what it needs, while that may be read.
            fs.write(X, Path(folder) / f"first.{kind}")
            fs.read(Path(folder) / f"first.{kind}").compute()
        if is_root:
            os.chmod(folder, 0o755)
            os.chown(path, 65534, 65534)
            os.seteuid(65534)
        try:
            yield path
        finally:
            if is_root:
                os.seteuid(0)
            path.chmod(0o755)


@pytest.mark.parametrize("kind", KINDS)
def test_no_permission_is_reported(somebody: Path, kind: str) -> None:
    need(kind)
    path = somebody / f"m.{kind}"
    fs.write(X, path)
    names = sorted(somebody.iterdir())
    somebody.chmod(0o555)
    with pytest.raises(FileUnreadableError, match="permissions"):
        fs.write(X * 2, path)
    assert sorted(somebody.iterdir()) == names
    path.chmod(0)
    with pytest.raises(FileUnreadableError, match="permissions"):
        fs.read(path).compute()
    path.chmod(0o755)
    assert (fs.read(path).compute() == X).all()
