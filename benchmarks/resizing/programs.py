"""Programs in C that the benchmarks of resizes time, compiled against the library of this tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import common

__all__ = ["compiled"]


def compiled(name: str, folder: Path) -> Path:
    """Return a program of this folder, compiled into another one.

    Raises
    ------
    OSError, subprocess.CalledProcessError
        Without cargo or MPI's compiler.
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    target = Path(os.environ.get("CARGO_TARGET_DIR", common.ROOT / "target")) / "release"
    script = common.ROOT / "crates" / "install" / "install.sh"
    compiler = shutil.which("mpicc", path=path) or "mpicc"
    source, library = Path(__file__).parent / f"{name}.c", folder / "lib"
    linked = [f"-I{folder / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}"]
    commands = [
        ["cargo", "build", "--release", "--locked", "-q", "-p", "freestone-malleable-c"],
        [str(script), "malleable", str(target), str(folder), "0"],
        [compiler, "-O2", str(source), *linked, "-lfreestone_malleable", "-o", str(folder / name)],
    ]
    for command in commands:
        subprocess.run(
            command, cwd=common.ROOT, check=True, env=environment, stdout=subprocess.DEVNULL
        )
    return folder / name
