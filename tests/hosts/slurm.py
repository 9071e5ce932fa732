"""A Slurm of one's own: two nodes on this machine, for a test."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.ports import free_ports

CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=100000
SlurmdParameters=config_overrides
KillWait=20
ReturnToService=2
NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={node0} CPUs=2 RealMemory=500 State=UNKNOWN
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node1} CPUs=2 RealMemory=500 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
START_S = 30.0


class SlurmUnavailableError(Exception):
    """Slurm can't be started here, and why."""


def missing() -> str | None:
    """Say what it lacks here."""
    lacking = [program for program in PROGRAMS if shutil.which(program) is None]
    if lacking:
        return f"no {', '.join(lacking)}: apt-get install slurmctld slurmd slurm-client munge"
    return None if os.getuid() == 0 else "a Slurm of one's own needs root"


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[Path]:
    """Start Slurm; its configuration file."""
    config = folder / "slurm.conf"
    try:
        _start(folder, config)
        yield config
    finally:
        for name in ("slurmctld", "slurmd-n0", "slurmd-n1", "munged"):
            _stop(folder / f"{name}.pid")


def _start(folder: Path, config: Path) -> None:
    for made in ("state", "spool-n0", "spool-n1"):
        (folder / made).mkdir()
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    ports = dict(zip(("port", "node0", "node1"), free_ports(3), strict=True))
    config.write_text(CONFIG.format(folder=folder, host=socket.gethostname(), **ports))
    munged = [f"--{name}={folder}/{file}" for name, file in MUNGE.items()]
    _run("munged", "--force", *munged)
    _run("slurmctld", "-c", "-f", str(config))
    for node in ("n0", "n1"):
        _run("slurmd", "-c", "-N", node, "-f", str(config))
    deadline = time.monotonic() + START_S
    environment = os.environ | {"SLURM_CONF": str(config)}
    while _idle(environment) != "2":
        if time.monotonic() > deadline:
            raise SlurmUnavailableError(f"its nodes did not come up within {START_S} s")
        time.sleep(0.1)


MUNGE = {
    "key-file": "munge.key",
    "socket": "munge.sock",
    "pid-file": "munged.pid",
    "log-file": "munged.log",
    "seed-file": "munge.seed",
}


def _idle(environment: dict[str, str]) -> str:
    words = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
    output = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return output.stdout.strip()


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=START_S, check=False)
    if done.returncode != 0:
        raise SlurmUnavailableError(f"{words[0]} says: {done.stderr.strip()}")


def _stop(pid_file: Path) -> None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists():
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.05)
