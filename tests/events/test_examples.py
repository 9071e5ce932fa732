"""Every example of events under `mpiexec` as four ranks, and on one processor as well as on all."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.docs.test_code_blocks import code_of
from tests.events.apart import apart
from tests.events.test_c import EXAMPLES, built, done, flags, needs, prefix
from tests.mpi import BUILD, ROOT, mpiexec_well

__all__ = ["prefix"]

RANKS = 4
# On all processors there may be fewer ranks than those; on one there never are.
HERE = sorted(os.sched_getaffinity(0))
PROCESSORS = {"all": [",".join(map(str, HERE))], "one": [str(HERE[0])]}
ON = """
import os, sys
os.sched_setaffinity(0, [int(number) for number in sys.argv[1].split(",")])
os.execv(sys.argv[2], sys.argv[2:])
"""
WIDTHS = pytest.mark.parametrize("processors", list(PROCESSORS))


def on(processors: str) -> list[str]:
    """Return what makes a program stay on some processors."""
    return [sys.executable, "-c", ON, *PROCESSORS[processors]]


def under_mpiexec(processors: str, *words: str) -> str:
    """Run a program as four ranks, which all have to end well; what they printed."""
    return mpiexec_well(RANKS, *words, before=on(processors), timeout_s=300)


@WIDTHS
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add.c", ["133"]),
        ("reduce.c", [f"rank {rank}: 14" for rank in range(RANKS)]),
        (
            "barrier.c",
            [
                f"rank {rank}: all 4 are here, 3 of its own things are prepared"
                for rank in range(RANKS)
            ],
        ),
        ("protect.c", ["3000 values, 1501500 in all"]),
        ("wait.c", ["9900, and 0 more"] * RANKS),
        ("add.cpp", ["1330"]),
    ],
    ids=["listing-4", "listing-5", "listing-6", "listing-10", "wait", "add-cpp"],
)
def test_listings_in_c(
    prefix: Path, tmp_path: Path, name: str, expected: list[str], processors: str
) -> None:
    output = under_mpiexec(processors, built(prefix, EXAMPLES / name, tmp_path))
    assert sorted(output.splitlines()) == sorted(expected)


@WIDTHS
def test_the_program_in_fortran(prefix: Path, tmp_path: Path, processors: str) -> None:
    needs("gfortran")
    program = str(tmp_path / "program")
    sources = [str(prefix / "include" / "freestone_events.f90"), str(EXAMPLES / "add.f90")]
    done(["gfortran", f"-J{tmp_path}", *sources, *flags(prefix), "-o", program])
    assert under_mpiexec(processors, program) == "weights 36.5\n"


@WIDTHS
def test_graph500_in_rust(processors: str) -> None:
    needs("cargo")
    done([*BUILD, "-p", "graph500"], cwd=ROOT)
    program = Path(os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")), "release", "graph500")
    for kernel in ["levels", "directions"]:
        words = ["--scale", "10", "--roots", "8", "--kernel", kernel]
        output = under_mpiexec(processors, str(program), *words)
        assert re.search(r"num_mpi_processes: +4\b", output), output
        assert re.search(r"NBFS: +8\b", output), output
        assert "all trees are valid" in output


SCRIPTS = {
    "graph500": ["examples/graph500/main.py", "--scale", "8", "--roots", "4"],
    "insitu": ["examples/insitu/main.py", "--steps", "12", "--interval", "5"],
    "insitu-bridge": ["examples/insitu/main.py", "--steps", "12", "--way", "bridge"],
    "insitu-monc": ["examples/insitu/main.py", "--steps", "12", "--way", "monc"],
    "insitu-tuned": ["examples/insitu/main.py", "--steps", "12", "--way", "tuned"],
    "joining": ["examples/joining/main.py", "--limit", "100000"],
}
SAYS = {
    "graph500": "searches: 4, every tree valid",
    "insitu": "as a sequential computation has it: True",
    "joining": "9,592 primes below 100,000, found by rank",
}


@WIDTHS
@pytest.mark.parametrize("name", list(SCRIPTS))
def test_applications_in_python(name: str, processors: str, tmp_path: Path) -> None:
    if name.startswith("insitu-"):
        pytest.importorskip("mpi4py")
    words = list(SCRIPTS[name])
    if name.startswith("insitu"):
        words += ["--folder", str(tmp_path)]
    output = under_mpiexec(processors, sys.executable, *words)
    assert output.count(SAYS[name.split("-")[0]]) == 1, output
    if name.startswith("insitu"):
        assert len(list(tmp_path.iterdir())) > 0


# The last program of the tutorial opens a cluster, which mpiexec has no part in.
TUTORIAL = code_of("docs/tutorial/events.md").split("import freestone as fs\n")[0]
PROGRAMS = {
    "the two halves": ["rank 1: 133"],
    "all": ["6"] * RANKS,
    "what tasks return": ["285"] * RANKS,
    "what stays": [str([[0, 1, 2, 3]] * RANKS)] * RANKS,
    "the machine": ["b'hello'"] * RANKS,
}


@WIDTHS
def test_the_tutorial(processors: str, tmp_path: Path) -> None:
    output = apart(RANKS, tmp_path, TUTORIAL, before=on(processors), timeout_s=300)
    expected = [line for lines in PROGRAMS.values() for line in lines]
    assert sorted(output.splitlines()) == sorted(expected)


@WIDTHS
def test_the_tutorial_on_what_goes_wrong(processors: str, tmp_path: Path) -> None:
    code = code_of("docs/tutorial/events.md")
    first = code[: code.index("import numpy")].split("def main")[0]
    rest = code[code.index("from freestone.errors import RunStuckError") :]
    output = apart(RANKS, tmp_path, first + rest, before=on(processors), timeout_s=300)
    for rank in range(RANKS):
        assert f"rank {rank}:" in output
    assert "lacks 'half' from rank 0" in output or "lacks 'the other half' from rank 0" in output
