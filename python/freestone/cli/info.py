"""Show the version, the machine, the settings and what is installed."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from typing import Any

from freestone import __version__
from freestone.cli import calibrate
from freestone.cli.output import Output, pairs, table
from freestone.units import format_nbytes

__all__ = ["configure", "execute"]

EXTRAS = {
    "rich": "progress bars",
    "pyarrow": "tables, and traces as Parquet",
    "joblib": "the joblib backend",
    "sklearn": "scikit-learn",
    "scipy": "sparse matrices, and the demo's fit",
    "uproot": "ROOT files",
    "awkward": "ragged arrays",
    "matplotlib": "the demo's plot",
    "fsspec": "remote files",
}
SHARED_MEMORY = "/dev/shm"


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command, of which there are none."""


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Look at this machine."""
    from freestone.config import Config

    settings = [setting._asdict() for setting in Config.load().describe()]
    data = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "machine": _machine(),
        "calibration": calibrate.described(),
        "settings": settings,
        "extras": {name: _version(name) for name in EXTRAS},
    }
    output.show(data, lambda: _text(data))
    return 0


def _machine() -> dict[str, Any]:
    page = os.sysconf("SC_PAGE_SIZE")
    folder = SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else "/tmp"
    room = shutil.disk_usage(folder)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_nbytes": page * os.sysconf("SC_PHYS_PAGES"),
        "free_memory_nbytes": page * os.sysconf("SC_AVPHYS_PAGES"),
        "shared_memory": folder,
        "shared_memory_nbytes": room.total,
        "free_shared_memory_nbytes": room.free,
    }


def _version(name: str) -> str | None:
    """Find a package's version without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version({"sklearn": "scikit-learn"}.get(name, name))
    except PackageNotFoundError:
        return None


def _text(data: dict[str, Any]) -> str:
    machine = data["machine"]
    free, total = machine["free_memory_nbytes"], machine["memory_nbytes"]
    room, shared = machine["free_shared_memory_nbytes"], machine["shared_memory_nbytes"]
    facts = [
        ("freestone", data["version"]),
        ("python", f"{data['python']}, {data['executable']}"),
        ("cores", machine["cores"]),
        ("memory", f"{format_nbytes(free)} free of {format_nbytes(total)}"),
        (machine["shared_memory"], f"{format_nbytes(room)} free of {format_nbytes(shared)}"),
        *calibrate.facts(data["calibration"]),
    ]
    settings = [(row["key"], row["text"], row["origin"], row["help"]) for row in data["settings"]]
    extras = [(name, found or "missing", EXTRAS[name]) for name, found in data["extras"].items()]
    return "\n\n".join(
        [
            pairs(facts),
            table(["setting", "value", "from", ""], settings),
            table(["package", "version", "for"], extras),
        ]
    )
