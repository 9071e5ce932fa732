"""The examples of docs/extend are packages of their own: their tests run outside of this one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extend.installing import EXAMPLES, install

PAGES = EXAMPLES.parents[1] / "docs" / "extend"
PYTHON = EXAMPLES.parents[1] / "python"
FENCE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_passes_its_own_tests(name: str, tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    install(name, site)
    clean = {key: value for key, value in os.environ.items() if "FREESTONE_" not in key}
    folder = str(EXAMPLES / name)
    options = ["-q", "-W", "error", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, folder],
        cwd=tmp_path,
        env=clean | {"PYTHONPATH": os.pathsep.join([str(site), str(PYTHON)])},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_the_files_of_its_example(name: str) -> None:
    shown = dict(FENCE.findall((PAGES / f"{name}.md").read_text()))
    files = {path.name: path.read_text() for path in (EXAMPLES / name).iterdir() if path.is_file()}
    assert shown == files
