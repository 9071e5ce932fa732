"""Every Python block of the README, the tutorial and the how-to guides runs."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
NEEDS = {
    "docs/coming/cheat-sheet.md": ("polars", "pyarrow"),
    "docs/howto/batch-systems.md": ("dask_jobqueue",),
    "docs/howto/engines.md": ("distributed",),
    "docs/howto/joblib.md": ("joblib", "sklearn"),
    "docs/howto/observe.md": ("opentelemetry", "pyarrow"),
    "docs/howto/optuna.md": ("optuna",),
    "docs/howto/pytorch.md": ("torch",),
    "docs/howto/resize.md": ("mpi4py",),
    "docs/howto/simulate.md": ("dask",),
    "docs/howto/tables.md": ("duckdb", "polars", "pyarrow"),
    "docs/howto/xarray.md": ("dask", "xarray", "zarr"),
    "docs/tutorial/dask.md": ("dask", "pandas"),
    "docs/tutorial/z-peak.md": ("uproot", "skhep_testdata", "scipy"),
}
MAX_S = 120
BUILT = importlib.util.find_spec("freestone._native") is not None


def pages(*folders: str) -> list[str]:
    found = ["README.md", *(f"docs/{folder}/*.md" for folder in folders)]
    return sorted(str(path.relative_to(ROOT)) for pattern in found for path in ROOT.glob(pattern))


def code_of(page: str) -> str:
    """Return a page's blocks as one program, each at the line where it stands in the page."""
    text = (ROOT / page).read_text()
    program: list[str] = []
    for block in FENCE.finditer(text):
        first = text.count("\n", 0, block.start(1))
        program += [""] * (first - len(program)) + block.group(1).splitlines()
    return "\n".join(program) + "\n"


RUNNABLE = [page for page in pages("coming", "tutorial", "howto") if code_of(page).strip()]


@pytest.mark.parametrize("page", RUNNABLE)
def test_blocks_are_python(page):
    compile(code_of(page), page, "exec")


@pytest.mark.skipif(not BUILT, reason="freestone's native module is not built")
@pytest.mark.parametrize("page", RUNNABLE)
def test_blocks_run(page, tmp_path):
    for module in NEEDS.get(page, ()):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{page} needs {module}")
    script = tmp_path / "page.py"
    script.write_text(code_of(page))
    ran = subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", str(script)],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "FREESTONE_" not in name},
        capture_output=True,
        text=True,
        timeout=MAX_S,
        check=False,
    )
    assert ran.returncode == 0, f"{page}, lines as in the page:\n{ran.stderr}"


MPI_MODULE = """
module mpi
  integer, parameter :: MPI_COMM_WORLD = 0
contains
  subroutine MPI_Init(code)
    integer, intent(out) :: code
    code = 0
  end subroutine
  subroutine MPI_Abort(comm, status, code)
    integer, intent(in) :: comm, status
    integer, intent(out) :: code
    code = comm + status
  end subroutine
  subroutine MPI_Finalize(code)
    integer, intent(out) :: code
    code = 0
  end subroutine
end module
"""


def test_the_program_in_fortran_compiles(tmp_path):
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    page = (ROOT / "docs/howto/resize-c.md").read_text()
    (program,) = re.findall(r"^```fortran\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "mpi.f90").write_text(MPI_MODULE)
    (tmp_path / "page.f90").write_text(program)
    module = ROOT / "crates/malleable-c/fortran/freestone_malleable.f90"
    words = ["gfortran", "-fsyntax-only", "-Wall", "-Werror", "mpi.f90", str(module), "page.f90"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", *pages("", "*")])
def test_links_lead_somewhere(page):
    for target in LINK.findall((ROOT / page).read_text()):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in pages("", "*"):
        if page != "README.md":
            assert page.removeprefix("docs/") in navigation
