"""Turns: each measurement in an interpreter of its own.

So that no thread, event loop or daemon of one system is there while another is measured, and
one that hangs or dies is reported and does not take the benchmark along.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Not that of `benchmarks.common`, which imports NumPy: a turn loads only what it measures.
ROOT = Path(__file__).resolve().parents[1]
MAX_S = 300


def take(target: str, **arguments: Any) -> dict[str, Any]:
    """Call a function in a new interpreter.

    Parameters
    ----------
    target
        ``"module:function"``; it returns a dict that JSON can hold.
    **arguments
        Its keyword arguments, which JSON can hold.

    Returns
    -------
    dict
        What it returned; ``{"absent": reason}`` when something isn't installed or it failed.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        out = Path(folder) / "turn.json"
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.turns", target, json.dumps(arguments), str(out)],
            cwd=ROOT,
            env=_environment(folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, errors = process.communicate(timeout=MAX_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"absent": f"did not end within {MAX_S} s"}
        if out.exists():
            return dict(json.loads(out.read_text()))
        last = (errors.strip().splitlines() or ["it ended without a word"])[-1]
        return {"absent": f"failed: {last}"}


def _environment(folder: str) -> dict[str, str]:
    # Systems that start interpreters find this package, and the tools they were installed with;
    # what they leave behind goes with the folder of the turn.
    tools = Path(sys.executable).parent
    path = f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    temporary = {"TMPDIR": folder, "RAY_TMPDIR": folder}
    return {**os.environ, **temporary, "PYTHONPATH": str(ROOT), "PATH": path}


def _end_with_parent() -> None:
    """Have the kernel end this process when the benchmark dies, however it does; Linux only."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)


def main() -> None:
    """Carry out one turn, on the other side of `take`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=main.__doc__)
    parser.add_argument("target")
    parser.add_argument("arguments", type=json.loads)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    _end_with_parent()
    module, name = options.target.split(":")
    try:
        found = getattr(importlib.import_module(module), name)(**options.arguments)
    except ModuleNotFoundError as error:
        found = {"absent": f"not installed: {error.name}"}
    options.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
