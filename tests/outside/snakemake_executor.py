"""Snakemake's own tests of executors on clusters, and what they do not ask of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.common.tests import TestWorkflowsLocalStorageBase
from snakemake_interface_common.exceptions import WorkflowError

import freestone as fs
import snakemake_executor_plugin_freestone as plugin
from snakemake_executor_plugin_freestone.jobs import run_job

TIMEOUT_S = 300


@pytest.fixture(scope="module")
def served() -> Iterator[fs.Cluster]:
    with fs.Cluster(executors=2, resources={"licence": 1}, dashboard=False) as cluster:
        yield cluster


class TestOnItsOwnCluster(TestWorkflowsLocalStorageBase):
    __test__ = True

    def get_executor(self) -> str:
        return "freestone"

    def get_executor_settings(self) -> plugin.ExecutorSettings:
        return plugin.ExecutorSettings()


class TestOnASharedCluster(TestOnItsOwnCluster):
    @pytest.fixture(autouse=True)
    def _connect(self, served: fs.Cluster) -> None:
        self.access = str(served.access)

    def get_executor_settings(self) -> plugin.ExecutorSettings:
        return plugin.ExecutorSettings(cluster=self.access)


def command(*words: str) -> list[str]:
    words = ("--executor", "freestone", "--jobs", "10", "--nocolor", *words)
    return [sys.executable, "-m", "snakemake", *words]


def snakemake(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        command(*words),
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_S,
    )
    return done.returncode, done.stdout


def test_wildcards_groups_and_scripts(tmp_path: Path, served: fs.Cluster) -> None:
    (tmp_path / "Snakefile").write_text(
        """
rule all:
    input: expand("sums/{n}.txt", n=[2, 3])
rule squares:
    output: "squares/{n}.txt"
    group: "each"
    resources: licence=1
    shell: "seq 1 {wildcards.n} | awk '{{print $1 * $1}}' > {output}; echo $OMP_NUM_THREADS"
rule sums:
    input: "squares/{n}.txt"
    output: "sums/{n}.txt"
    group: "each"
    threads: 2
    script: "sums.py"
"""
    )
    (tmp_path / "sums.py").write_text(
        "total = sum(map(int, open(snakemake.input[0])))\n"
        "open(snakemake.output[0], 'w').write(f'{total} by {snakemake.threads}')\n"
    )
    words = ("--freestone-cluster", str(served.access), "--freestone-resources", "licence")
    status, printed = snakemake(tmp_path, *words)
    assert status == 0, printed
    assert (tmp_path / "sums/2.txt").read_text() == "5 by 2"
    assert (tmp_path / "sums/3.txt").read_text() == "14 by 2"
    logs = list((tmp_path / ".snakemake/freestone_logs").rglob("*.log"))
    assert len(logs) == 2
    assert all("rule squares" in log.read_text() for log in logs)


def test_a_failure_names_the_log_and_other_jobs_go_on(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        """
rule all:
    input: "good.txt", "bad.txt"
rule good:
    output: "good.txt"
    shell: "echo fine > {output}"
rule bad:
    output: "bad.txt"
    shell: "echo half > {output}; echo no such luck >&2; exit 3"
"""
    )
    status, printed = snakemake(tmp_path, "--keep-going", "--show-failed-logs")
    assert status == 1
    assert "The job ended with status 1." in printed
    assert f"log: {tmp_path}/.snakemake/freestone_logs/bad.log" in printed
    assert "no such luck" in printed
    assert (tmp_path / "good.txt").read_text() == "fine\n"
    assert not (tmp_path / "bad.txt").exists()


def test_a_job_that_fails_is_tried_again_by_snakemake(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        """
rule one:
    output: "one.txt"
    resources: mem_mb=lambda wildcards, attempt: 100 * attempt
    shell: "echo {resources.mem_mb} >> tries; test $(wc -l < tries) = 2; touch {output}"
"""
    )
    status, printed = snakemake(tmp_path, "--retries", "2")
    assert status == 0, printed
    assert (tmp_path / "tries").read_text() == "100\n200\n"
    assert "Trying to restart job" in printed


def test_ctrl_c_ends_jobs_that_are_then_incomplete(tmp_path: Path, served: fs.Cluster) -> None:
    (tmp_path / "Snakefile").write_text(
        """
rule slow:
    output: "slow.txt"
    shell: "echo begun > {output}; echo $$ > pid; test -e fast || sleep 1000"
"""
    )
    cluster = ("--freestone-cluster", str(served.access))
    with subprocess.Popen(command(*cluster), cwd=tmp_path, start_new_session=True) as running:
        pid = tmp_path / "pid"
        wait_until(lambda: pid.exists() and pid.read_text())
        running.send_signal(signal.SIGINT)
        assert running.wait(TIMEOUT_S) == 1
    wait_until(lambda: not is_alive(int(pid.read_text())))
    (tmp_path / "fast").touch()
    assert snakemake(tmp_path, *cluster, "--unlock")[0] == 0
    status, printed = snakemake(tmp_path, *cluster)
    assert status == 1
    assert "--rerun-incomplete" in printed
    assert snakemake(tmp_path, *cluster, "--rerun-incomplete")[0] == 0
    assert (tmp_path / "slow.txt").read_text() == "begun\n"


def wait_until(condition: Any) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_job_whose_executor_is_lost_is_ended_and_runs_again(
    tmp_path: Path, served: fs.Cluster
) -> None:
    (tmp_path / "Snakefile").write_text(
        """
rule one:
    output: "one.txt"
    shell: "echo $$ >> pids; test $(wc -l < pids) = 2 || sleep 1000; touch {output}"
"""
    )
    words = command("--freestone-cluster", str(served.access))
    with subprocess.Popen(words, cwd=tmp_path) as running:
        pids = tmp_path / "pids"
        wait_until(lambda: pids.exists() and pids.read_text())
        first = int(pids.read_text())
        os.kill(os.getpgid(first), signal.SIGKILL)
        assert running.wait(TIMEOUT_S) == 0
    assert not is_alive(first)
    assert len(pids.read_text().split()) == 2


def test_what_can_not_run_is_an_error_at_once(tmp_path: Path, served: fs.Cluster) -> None:
    (tmp_path / "Snakefile").write_text(
        """
rule one:
    output: "one.txt"
    resources: tape=1
    shell: "touch {output}"
"""
    )
    status, printed = snakemake(tmp_path, "--freestone-cluster", str(tmp_path / "absent.json"))
    assert status == 1
    assert "freestone: " in printed
    assert "absent.json" in printed
    words = ("--freestone-cluster", str(served.access), "--freestone-resources", "tape")
    status, printed = snakemake(tmp_path, *words)
    assert status == 1
    assert "UnschedulableError" in printed
    assert "tape" in printed


def job(threads: int = 1, **resources: Any) -> Any:
    return SimpleNamespace(threads=threads, resources=resources)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (job(), {"cores": 1}),
        (job(threads=0), {"cores": 1}),
        (job(4, mem_mb=2000, disk_mb=10), {"cores": 4, "memory": 2_256 * 10**6, "disk": 10**7}),
        (job(gpu=1, tmpdir="/tmp", tape=3), {"cores": 1, "gpus": 1}),
        (job(gpus=2, licence=3, mem_mb="much"), {"cores": 1, "gpus": 2, "licence": 3}),
    ],
)
def test_what_a_job_takes_of_its_worker(given: Any, taken: Mapping[str, int]) -> None:
    assert plugin._amounts(given, ["licence"]) == taken


def test_the_runtime_of_a_rule_is_a_limit() -> None:
    assert plugin._timeout_s(job(runtime=3)) == 180
    assert plugin._timeout_s(job()) is None


def test_resources_that_jobs_take_anyway_are_refused() -> None:
    assert plugin._names(" licence, tape,") == {"licence", "tape"}
    with pytest.raises(WorkflowError, match=r"names mem_mb, which jobs take anyway"):
        plugin._names("licence,mem_mb")


def test_a_job_without_a_common_folder(served: fs.Cluster) -> None:
    line = "pwd; ls; echo $WORD >&2; exit 3"
    call = served.submit(run_job, line, None, {"WORD": "hello"}, None, isolation="fork", pure=False)
    status, printed = call.result(timeout_s=TIMEOUT_S)
    assert status == 3
    folder, word = printed.decode().splitlines()
    assert word == "hello"
    assert not os.path.exists(folder)


def test_immediate_submit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text('rule one:\n    output: "one.txt"\n    shell: "false"\n')
    status, printed = snakemake(tmp_path, "--immediate-submit", "--notemp")
    assert status == 1
    assert "--immediate-submit can't be used" in printed
