"""``freestone run --distributed --host=...``: scripts on workers that engines start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from freestone.cli import main
from tests.cli.test_distributed_scripts import SCRIPT
from tests.mpi import mpiexec

FREESTONE = [sys.executable, "-c", "import sys; from freestone.cli import main; sys.exit(main())"]
SMALL = ("--set", "memory=64MiB", "--set", "disk=64MiB")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.daph").write_text(SCRIPT)
    for name in ("WORKERS", "EXECUTORS", "MEMORY", "DISK"):
        # What --set changes in this process is put back.
        monkeypatch.setenv(f"FREESTONE_{name}", "64MiB" if name in ("MEMORY", "DISK") else "1")
    monkeypatch.setenv("FREESTONE__SET", "")


def run(*options: str) -> int:
    return main(["run", *options, "s.daph", "n=50"])


@pytest.fixture
def expected(capsys: pytest.CaptureFixture[str]) -> str:
    """What the script prints without a cluster."""
    assert run("--vec") == 0
    return str(capsys.readouterr().out)


def ranks_of(ranks: int, *options: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mpi4py")
    words = ["run", "--distributed", "--min-distr-size=0", *options, "s.daph", "n=50"]
    return mpiexec(ranks, *FREESTONE, *words, cwd=None, timeout_s=100)


@pytest.mark.parametrize("option", ["--host=mpi", "--dist_backend=MPI"])
def test_ranks_of_mpi(expected: str, option: str) -> None:
    done = ranks_of(3, option, *SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_errors_of_the_script_under_mpi() -> None:
    Path("s.daph").write_text('print("a");\nX = fill(1, 9, 2) + $n;\nprint(X / (X - 51));')
    done = ranks_of(3, "--host=mpi", *SMALL)
    # mpiexec passes on the status of the rank that ran the script.
    assert done.returncode == 3
    assert "integers are divided by zero\ns.daph:3:" in done.stdout
    assert done.stdout.startswith("a\n")


def test_one_rank_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mpi4py")
    done = ranks_of(1, "--host=mpi")
    assert done.returncode == 2
    assert "rank 0 runs no calls" in done.stderr
    assert "mpiexec -n 3" in done.stderr


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask cluster of two workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        local_directory=str(tmp_path / "dask"),
        memory_limit="1GiB",
    ) as local:
        yield str(local.scheduler_address)


# Leaves a file open in each of its workers now and then, which is not ours to mend.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_workers_of_dask(capsys: pytest.CaptureFixture[str], expected: str, scheduler: str) -> None:
    options = ("--distributed", "--min-distr-size=0", "--host=dask", f"--cluster={scheduler}")
    assert run(*options, *SMALL) == 0
    assert capsys.readouterr().out == expected


def test_workers_that_dask_starts_here(expected: str) -> None:
    pytest.importorskip("distributed")
    words = ["run", "--distributed", "--min-distr-size=0", "--host=dask", "s.daph", "n=50"]
    program = Path(sys.executable).with_name("freestone")
    done = subprocess.run(
        [str(program), *words], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_a_scheduler_of_dask_that_is_not_there_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("freestone.cli.distributed.ANSWER_S", 0.2)
    assert run("--distributed", "--host=dask", "--cluster=tcp://127.0.0.1:1") == 2
    assert "no scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "host", "cure"),
    [
        ("distributed", "dask", "pip install distributed"),
        ("mpi4py", "mpi", "pip install mpi4py"),
    ],
)
def test_an_engine_that_is_not_installed_is_reported(
    module: str,
    host: str,
    cure: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [known for known in sys.modules if known.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    assert run("--distributed", f"--host={host}") == 2
    assert cure in capsys.readouterr().err


def test_slurm_that_is_not_there_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run("--distributed", "--host=slurm") == 2
    assert "there is no sbatch" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--host=mpi", "--cluster=x"])
def test_a_cluster_without_distributed_is_refused(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(option) == 2
    assert "add --distributed" in capsys.readouterr().err
