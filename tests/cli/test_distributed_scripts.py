"""``freestone run --distributed``: clusters of its own, of other programs, of engines."""

from pathlib import Path

import pytest

from freestone import Cluster
from freestone.cli import main

SCRIPT = """X = rand($n, 6, 0.0, 1.0, 1.0, 1);
print(t(X) @ X);
print(sum(X * 2.0));
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(text: str, *options: str, words: tuple[str, ...] = ("n=50",)) -> int:
    Path("s.daph").write_text(text)
    return main(["run", *options, "s.daph", *words])


@pytest.fixture
def expected(capsys: pytest.CaptureFixture[str]) -> str:
    """What a script prints without a cluster."""
    assert run(SCRIPT, "--vec") == 0
    return str(capsys.readouterr().out)


def test_a_cluster_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, expected: str
) -> None:
    for name in ("FREESTONE_WORKERS", "FREESTONE_EXECUTORS", "FREESTONE__SET"):
        # What --set changes in this process is put back.
        monkeypatch.setenv(name, "1")
    options = ("--distributed", "--min-distr-size=0", "--set", "workers=2", "--set", "executors=1")
    assert run(SCRIPT, *options, "--statistics") == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert "agg_all" in err or "pipeline" in err


@pytest.mark.parametrize("name", ["folder", "address"])
def test_a_cluster_of_another_program(
    capsys: pytest.CaptureFixture[str], expected: str, cluster: Cluster, name: str
) -> None:
    address = getattr(cluster, name)
    options = ("--distributed", "--min-distr-size=0", f"--cluster={address}")
    before = cluster.statistics().done
    assert run(SCRIPT, *options) == 0
    assert capsys.readouterr().out == expected
    assert cluster.statistics().done > before
    assert run(SCRIPT, *options, "--json") == 2
    assert "--cluster runs the script in another one" in capsys.readouterr().err


def test_options_reach_the_other_program(
    capsys: pytest.CaptureFixture[str], cluster: Cluster
) -> None:
    Path("mine.py").write_text("def twice(x, y):\n    return x + y + 1.0\n")
    text = "print(fill(1.0, 2, 2) +::twice fill(1.0, 2, 2));"
    options = ("--distributed", f"--cluster={cluster.folder}", "--kernel-ext=mine.py")
    assert run(text, *options, "--statistics", words=()) == 0
    out, err = capsys.readouterr()
    assert out == "DenseMatrix(2x2, double)\n3 3\n3 3\n"
    assert "binary add" in err
    reported = 'print(1, true, true); startProfiling(); stopProfiling("r"); print(2);'
    assert run(reported, *options, words=()) == 0
    out, err = capsys.readouterr()
    assert out == "2\n"
    assert err.startswith('1\n{"region": "r"')
    for refused in ("--timing", "--explain=built"):
        assert run(text, *options, refused, words=()) == 2
        assert "in another one" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_or_ends_is_reported(
    capsys: pytest.CaptureFixture[str], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(SCRIPT, "--distributed", "--cluster=nowhere") == 2
    assert "no running cluster is 'nowhere'" in capsys.readouterr().err

    def gone(folder: str, question: object, timeout_s: float = 0) -> dict[str, object]:
        raise ConnectionRefusedError("nobody listens")

    monkeypatch.setattr("freestone.observe.control.ask", gone)
    monkeypatch.setattr("freestone.observe.control.only", lambda found, wanted: {"folder": "x"})
    assert run(SCRIPT, "--distributed", f"--cluster={cluster.folder}") == 2
    assert "does not answer any more: nobody listens" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("x = ;", 1),
        ("print(fill(1.0, 2, 2) + fill(1.0, 3, 3));", 2),
        ('print("a");\nX = fill(1, 9, 2);\nprint(X / (X - 1));', 3),
        ('stop("enough");', 3),
    ],
)
def test_errors_are_those_of_local_runs(
    capsys: pytest.CaptureFixture[str], cluster: Cluster, text: str, status: int
) -> None:
    assert run(text) == status
    here = capsys.readouterr().out
    assert run(text, "--distributed", "--min-distr-size=0", f"--cluster={cluster.folder}") == status
    assert capsys.readouterr().out == here


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--host=mp",), "there are mpi, dask, slurm; did you mean 'mpi'"),
        (("--dist_backend=grpc",), "there are MPI, sync-gRPC, async-gRPC"),
        (("--host=slurm", "--cluster=a"), "goes with --host=dask, not slurm"),
    ],
)
def test_what_does_not_go_together(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], problem: str
) -> None:
    assert run(SCRIPT, "--distributed", *options) != 0
    assert problem in capsys.readouterr().err
