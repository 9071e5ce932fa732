"""Programs whose ranks print to a file each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mpi import mpiexec_well

# What several processes print at once may be one line in the pipe that they share.
APART = "import os, sys; sys.stdout = open(f'{sys.argv[1]}/{os.getpid()}.txt', 'w')\n"


def apart(
    ranks: int, folder: Path, source: str, *, before: Sequence[str] = (), timeout_s: float = 120.0
) -> str:
    """Run a program in Python, all of whose ranks have to end well; what they printed."""
    path = folder / "program.py"
    path.write_text(APART + source)
    words = [sys.executable, str(path), str(folder)]
    mpiexec_well(ranks, *words, before=before, timeout_s=timeout_s)
    return "".join(file.read_text() for file in folder.glob("*.txt"))


# MPICH's mpiexec ends the survivors of a process that ends without MPI_Finalize, as soon as it sees
# that: each process has a shell around it that stays until all have ended.
OUTLIVING = """
folder=$1 ranks=$2; shift 2
"$@"
: > "$folder/$PMI_RANK"
until [ "$(ls "$folder" | wc -l)" -ge "$ranks" ]; do sleep 0.05; done
exit 1
"""


def outliving(folder: Path, ranks: int) -> list[str]:
    """Return what makes mpiexec let ranks that outlive another one end by themselves."""
    folder.mkdir()
    return ["sh", "-c", OUTLIVING, "sh", str(folder), str(ranks)]
