"""Jobs that grow and shrink under a real Slurm of several virtual nodes, with ranks across them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import slurm as private
from tests.malleable.jobs import HERE, wait_until
from tests.mpi import PATH, ROOT, launcher

pytest.importorskip("mpi4py")

LAUNCH = ROOT / "examples" / "slurm" / "launch.sh"
NODES = ["n0", "n1", "n2", "n3"]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    reason = private.missing()
    if reason is not None:
        pytest.skip(f"SLURM IS NOT TESTED: {reason}")
    # The daemons refuse folders that others could write to, as those of pytest may be.
    made = Path(tempfile.mkdtemp(prefix="fs-slurm-"))
    try:
        with private.slurm(made, len(NODES)) as config:
            monkeypatch.setenv("SLURM_CONF", str(config))
            monkeypatch.setenv("PATH", PATH)
            yield made
            # Jobs end before the daemons do, or their processes would stay.
            say("scancel", "--me")
            wait_until(lambda: not say("squeue", "--noheader"))
    except private.SlurmUnavailableError as error:
        pytest.skip(f"SLURM IS NOT TESTED: {error}")
    finally:
        shutil.rmtree(made, ignore_errors=True)


def say(*words: str) -> str:
    """Return what a command of Slurm's prints."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


class Job:
    """A job by the script of the examples, but for its program."""

    def __init__(self, folder: Path, *options: str, **settings: Any) -> None:
        launcher()
        self.folder = folder / "job"
        self.folder.mkdir()
        words = json.dumps({"every_s": 0.2, **settings})
        script = (ROOT / "examples" / "slurm" / "job.sh").read_text()
        for name, file in (("main.py", HERE / "slurm_job.py"), ("launch.sh", LAUNCH)):
            assert f"examples/slurm/{name}" in script
            script = script.replace(f"examples/slurm/{name}", str(file))
        (folder / "job.sh").write_text(script)
        environment = f"--export=ALL,PYTHON={sys.executable}"
        given = [*options, environment, f"--chdir={self.folder}", f"--output={self.folder}/out"]
        self.number = say("sbatch", "--parsable", *given, str(folder / "job.sh"), words)

    @property
    def places(self) -> list[list[str]]:
        """The nodes of the ranks, after each start and resize."""
        path = self.folder / "places"
        found: list[list[str]] = json.loads(path.read_text()) if path.exists() else []
        return found

    @property
    def log(self) -> list[dict[str, Any]]:
        """The decisions."""
        path = self.folder / "log.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def has_state(self) -> bool:
        """Whether there is a file of its state."""
        return (self.folder / f"state-{self.number}").exists()

    @property
    def state(self) -> str:
        """The job's state, as Slurm writes it."""
        return say("squeue", "--noheader", "--states=all", f"--jobs={self.number}", "--format=%T")

    @property
    def companions(self) -> dict[str, str]:
        """By node, the companion on it."""
        given = [f"--name=grow-of-{self.number}", "--states=R", "--format=%N %i"]
        lines = say("squeue", "--noheader", *given).splitlines()
        return dict(line.split() for line in lines)

    def wait(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        try:
            wait_until(is_so, 90)
        except TimeoutError:
            out = (self.folder / "out").read_text()
            pytest.fail(f"{self.state}: {self.places}\n{self.log}\n{out}")

    def end(self) -> None:
        """Let the program end, and see that it has ended well, and nothing is held any more."""
        (self.folder / "stop").touch()
        self.wait(lambda: self.state == "COMPLETED")
        self.wait(lambda: not self.companions)


def waiting(*options: str) -> str:
    """Submit a short job; return its number."""
    return say("sbatch", "--parsable", "--output=/dev/null", *options, "--wrap=true")


@pytest.mark.timeout(300)
def test_ranks_start_on_granted_nodes_and_leave_those_that_others_need(folder: Path) -> None:
    job = Job(folder, "--nodes=2", "--ntasks=3", most=7, per_node=2)
    job.wait(lambda: len(job.places) == 3)
    own = ["n0", "n0", "n1"]
    assert job.places == [own, [*own, "n2", "n2"], [*own, "n2", "n2", "n3", "n3"]]
    # Who waits for something else than nodes, or for other nodes, is not made room for.
    others = [waiting("--hold"), waiting("--nodelist=n0")]
    job.wait(lambda: "more than 7" in job.log[-1]["why"])
    number = waiting("--nodes=1", "--exclusive")
    state = ["squeue", "--noheader", "--states=all", f"--jobs={number}", "--format=%T"]
    job.wait(lambda: say(*state) == "COMPLETED" and len(job.places) > 3)
    assert job.places[3] == [*own, "n2", "n2"]
    assert [line["action"] for line in job.log if line["action"] in ("grow", "shrink")][:3] == [
        *("grow", "grow", "shrink")
    ]
    # The node comes back, once nobody waits for whom Slurm denies it.
    say("scancel", *others)
    job.wait(lambda: len(job.places) == 5)
    assert job.places[4] == job.places[2]
    # A companion that an administrator cancels is left in order.
    say("scancel", job.companions["n2"])
    job.wait(lambda: len(job.places) >= 6)
    assert job.places[5] == [*own, "n3", "n3"]
    assert any("nothing holds n2" in line["why"] for line in job.log)
    job.end()


@pytest.mark.timeout(300)
def test_a_node_that_starts_nothing_is_given_back(folder: Path) -> None:
    # Slurm takes it for idle for some time.
    private.stop(folder / "slurmd-n2.pid")
    job = Job(folder, "--nodes=2", "--ntasks=2", most=3, per_node=1, start_s=2.0)
    job.wait(lambda: len(job.places) == 2)
    assert job.places == [["n0", "n1"], ["n0", "n1", "n3"]]
    refused = [line for line in job.log if line["action"] == "refuse"]
    assert [line["node"] for line in refused] == ["n2"]
    job.end()
    private.start_node(folder / "slurm.conf", "n2")


@pytest.mark.timeout(300)
def test_a_killed_rank_brings_the_job_back_from_its_state(folder: Path) -> None:
    job = Job(folder, "--nodes=1", "--ntasks=1", most=2, per_node=1)
    job.wait(lambda: job.places[-1:] == [["n0", "n1"]] and job.has_state)
    (job.folder / "kill").touch()
    job.wait(lambda: job.state == "PENDING")
    # Slurm would wait for two minutes. It compares whole seconds, and refuses, as one that was
    # killed, a job that starts in the second in which it ended ("Job credential revoked").
    say("scontrol", "update", f"JobId={job.number}", "StartTime=now+2")
    job.wait(lambda: [line["action"] for line in job.log].count("grow") == 2)
    first, second = (line["step"] for line in job.log if line["action"] == "grow")
    # It did not begin anew.
    assert first == 0
    assert second >= 5
    job.wait(lambda: len(job.places) >= 2 and job.places[-1] == ["n0", "n1"])
    job.end()
    assert not job.has_state
