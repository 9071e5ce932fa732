"""Files that workers, and `freestone convert`, may not read or write."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from tests.io.table import FORMATS, LIBRARIES, need

KINDS = [kind for kind in FORMATS if kind != "feather"]
PR_CAPBSET_DROP, OVERRIDES = 24, (1, 2)
"""What root may do to files of whatever rights: `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`."""

SCRIPT = """
import json, os, sys, time
from pathlib import Path
import numpy as np
import freestone as fs
from freestone.cli.main import main

folder, gate = Path(sys.argv[1]) / "data", Path(sys.argv[1]) / "gate"
folder.mkdir()
x = np.random.default_rng(3).normal(size=(600, 4))

def said(action):
    try:
        action()
    except fs.FreestoneError as error:
        return [type(error).__name__, str(error)]

def wait(path):
    while not os.path.exists(path):
        time.sleep(0.001)

def find_out(cluster, kind):
    path, array = folder / f"m.{kind}", fs.Array.from_numpy(x, 200)
    fs.write(array, path)
    names = sorted(os.listdir(folder))
    folder.chmod(0o555)
    written = said(lambda: fs.write(array, path))
    folder.chmod(0o755)
    gate.unlink(missing_ok=True)
    held = [cluster.submit(wait, str(gate), worker=each, pure=False) for each in range(2)]
    blocks = fs.read(path, block_rows=200)
    path.chmod(0)
    gate.touch()
    read, opened = said(blocks.persist), said(lambda: fs.read(path))
    path.chmod(0o755)
    cluster.gather(held)
    same = bool((fs.read(path).compute() == x).all())
    left = sorted(os.listdir(folder)) == names
    return {"written": written, "read": read, "opened": opened, "same": same and left}

secret = folder / "secret"
secret.touch(0)
try:
    secret.read_text()
except PermissionError:
    with fs.Cluster(workers=2, executors=1, memory="128MiB") as cluster:
        found = {kind: find_out(cluster, kind) for kind in sys.argv[2:]}
    folder.chmod(0o555)
    words = ["convert", "--workers", "2", str(folder / "m.csv")]
    found["convert into"] = main([*words, str(folder / "m.npy")])
    (folder / "m.csv").chmod(0)
    found["convert from"] = main([*words, str(folder.parent / "m.npy")])
    folder.chmod(0o755)
    print(json.dumps(found))
"""


def give_up_rights() -> None:
    """Be bound by the rights of files, as root is not, from the next program on."""
    if os.geteuid() == 0:
        for capability in OVERRIDES:
            if ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "a capability can't be given up")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of each format, and what was told on standard error."""
    kinds = [kind for kind in KINDS if kind not in LIBRARIES or find_spec(LIBRARIES[kind])]
    words = [sys.executable, "-c", SCRIPT, str(tmp_path_factory.mktemp("rights")), *kinds]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=100, preexec_fn=give_up_rights
        )
    except subprocess.SubprocessError as error:
        pytest.skip(f"root can't give up its rights here, so files refuse it nothing ({error})")
    assert done.returncode == 0, done.stderr
    if not done.stdout:
        pytest.skip("files refuse this user nothing, whatever their rights")
    return {**json.loads(done.stdout.splitlines()[-1]), "told": done.stderr}


@pytest.mark.parametrize("action", ["written", "read", "opened"])
@pytest.mark.parametrize("kind", KINDS)
def test_workers_say_what_they_may_not(found: dict[str, Any], kind: str, action: str) -> None:
    need(kind)
    name, message = found[kind][action]
    assert name == "FileUnreadableError"
    assert f"m.{kind}" in message
    assert "permissions" in message


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_there_stays(found: dict[str, Any], kind: str) -> None:
    need(kind)
    assert found[kind]["same"]


def test_convert_says_it_in_a_line(found: dict[str, Any]) -> None:
    assert (found["convert into"], found["convert from"]) == (2, 2)
    lines = [line for line in found["told"].splitlines() if "permissions" in line]
    assert len(lines) == 2
    assert "m.npy" in lines[0]
    assert "m.csv" in lines[1]
