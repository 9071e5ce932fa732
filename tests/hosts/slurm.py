"""A Slurm of one's own: virtual nodes on this machine, for a test."""

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
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=500"
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
def slurm(folder: Path, nodes: int = 2) -> Iterator[Path]:
    """Start Slurm with nodes n0, n1 and so on; its configuration file."""
    config = folder / "slurm.conf"
    names = [f"n{number}" for number in range(nodes)]
    try:
        _start(folder, config, names)
        yield config
    finally:
        for name in ("slurmctld", *(f"slurmd-{node}" for node in names), "munged"):
            stop(folder / f"{name}.pid")


def _start(folder: Path, config: Path, nodes: list[str]) -> None:
    for made in ("state", *(f"spool-{node}" for node in nodes)):
        (folder / made).mkdir()
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    host, (port, *ports) = socket.gethostname(), free_ports(1 + len(nodes))
    lines = [
        NODE.format(name=node, host=host, port=its) for node, its in zip(nodes, ports, strict=True)
    ]
    text = CONFIG.format(folder=folder, host=host, port=port, nodes="\n".join(lines))
    config.write_text(text)
    munged = [f"--{name}={folder}/{file}" for name, file in MUNGE.items()]
    _run("munged", "--force", *munged)
    _run("slurmctld", "-c", "-f", str(config))
    for node in nodes:
        start_node(config, node)
    deadline = time.monotonic() + START_S
    environment = os.environ | {"SLURM_CONF": str(config)}
    while _idle(environment) != str(len(nodes)):
        if time.monotonic() > deadline:
            raise SlurmUnavailableError(f"its nodes did not come up within {START_S} s")
        time.sleep(0.1)


def start_node(config: Path, node: str) -> None:
    """Start the daemon of a node."""
    _run("slurmd", "-c", "-N", node, "-f", str(config))


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


def stop(pid_file: Path) -> None:
    """End a daemon, and wait until it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists():
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.05)
