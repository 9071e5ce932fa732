"""Try what freestone needs of this machine, and say what to do where something is missing.

The status is 1 if something is wrong without which no cluster works.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Literal

from freestone.cli.output import Output
from freestone.units import format_nbytes

__all__ = ["Finding", "configure", "execute"]

_MIN_SHARED_MEMORY_NBYTES = 1 << 30
_MIN_DESCRIPTORS = 1024
_PROBE_TIMEOUT_S = 20.0
_OTHER_FOLDER = (
    "set folder= (FREESTONE_FOLDER) to one of yours with a short path, on a disk of this machine"
)

Verdict = Literal["ok", "missing", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a check.

    Attributes
    ----------
    check : str
        What was looked at.
    verdict : {"ok", "missing", "wrong"}
        Missing is what only some need; without what is wrong no cluster works well.
    found : str
        What is there.
    advice : str
        What to do about it; empty if nothing.
    """

    check: str
    verdict: Verdict
    found: str
    advice: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command, of which there are none."""


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Make all checks, one after the other."""
    findings = []
    for check in CHECKS:
        for finding in check():
            findings.append(finding)
            if output.form == "table":
                output.show({}, lambda: _text(finding))  # noqa: B023  (called at once)
    wrong = sum(finding.verdict == "wrong" for finding in findings)
    if output.form == "json":
        output.show([asdict(finding) for finding in findings], str)
    else:
        output.show({}, lambda: _summary(wrong))
    return 1 if wrong else 0


def _text(finding: Finding) -> str:
    line = f"{finding.verdict:<8} {finding.check:<14} {finding.found}"
    return f"{line}\n{'':<24}{finding.advice}" if finding.advice else line


def _summary(wrong: int) -> str:
    if not wrong:
        return "All that a cluster needs is there."
    return f"{wrong} {'thing is' if wrong == 1 else 'things are'} wrong: see above."


def _installed() -> Iterator[Finding]:
    from freestone import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("freestone", "ok", f"{__version__}, Python {python}, {sys.executable}")


def _settings() -> Iterator[Finding]:
    from freestone.config import Config
    from freestone.errors import FreestoneError

    try:
        changed = [one.key for one in Config.load().describe() if one.origin != "default"]
    except FreestoneError as error:
        yield Finding("settings", "wrong", str(error), "mend it; 'freestone info' shows them all")
    else:
        yield Finding("settings", "ok", f"changed: {', '.join(changed)}" if changed else "defaults")


def _folders() -> Iterator[Finding]:
    from freestone.config import Config
    from freestone.errors import FreestoneError
    from freestone.hosts.folders import Folders, runtime_dir
    from freestone.observe.control import reachable

    try:
        where = runtime_dir(Config.load())
        folders = Folders.create(where)
    except (OSError, FreestoneError) as error:
        yield Finding("folder", "wrong", str(error), _OTHER_FOLDER)
        return
    path = folders.path / "manager.sock"
    try:
        with socket.socket(socket.AF_UNIX) as tried, reachable(path) as short:
            tried.bind(short)
        yield Finding("folder", "ok", str(where))
    except OSError as error:
        found = f"no socket can be made at {path}: {error}"
        yield Finding("folder", "wrong", found, _OTHER_FOLDER)
    finally:
        folders.remove()


def _shared_memory() -> Iterator[Finding]:
    folder = "/dev/shm"
    if not os.access(folder, os.W_OK):
        advice = "blocks lie in the folder above, as fast as its disk: mount a tmpfs there"
        yield Finding("shared memory", "missing", f"{folder} can't be written to", advice)
        return
    room = shutil.disk_usage(folder)
    found = f"{format_nbytes(room.free)} free of {format_nbytes(room.total)} in {folder}"
    if room.free < _MIN_SHARED_MEMORY_NBYTES:
        advice = "large blocks go to disk; in a container: --shm-size=8g, or --ipc=host"
        yield Finding("shared memory", "missing", found, advice)
    else:
        yield Finding("shared memory", "ok", found)


def _limits() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _MIN_DESCRIPTORS:
        advice = f"some hundred workers need more: 'ulimit -n {min(hard, 65536)}', or ask for it"
        yield Finding("open files", "missing", f"{soft} at once", advice)
    else:
        yield Finding("open files", "ok", f"{soft} at once")


def _network() -> Iterator[Finding]:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            pass
        yield Finding("loopback", "ok", "127.0.0.1 can be listened to")
    except OSError as error:
        advice = "the live page and ranks need it: 'ip link set lo up'"
        yield Finding("loopback", "wrong", str(error), advice)
    name = socket.gethostname()
    try:
        yield Finding("host name", "ok", f"{name} is {socket.gethostbyname(name)}")
    except OSError as error:
        advice = f"Dask, MPI and Ray look it up: add '127.0.1.1 {name}' to /etc/hosts"
        yield Finding("host name", "missing", f"{name}: {error}", advice)


def _cluster() -> Iterator[Finding]:
    """Start one, whatever the settings say of its size."""
    program = (
        "import freestone as fs\n"
        "sizes = {'workers': 1, 'executors': 1, 'memory': '64MiB', 'disk': '64MiB'}\n"
        "with fs.Cluster(**sizes, dashboard=False) as cluster:\n"
        "    assert cluster.submit(pow, 2, 10).result(timeout_s=60) == 1024\n"
    )
    start = time.monotonic()
    done = _ran([sys.executable, "-c", program], timeout_s=90.0)
    took_s = time.monotonic() - start
    if done is not None and done.returncode == 0:
        found = f"started, called and closed in {took_s:.1f} s"
        yield Finding("a cluster", "ok", found)
    else:
        last = "it did not end" if done is None else (done.stderr.strip() or "no output")
        yield Finding("a cluster", "wrong", last.splitlines()[-1], "mend what is wrong above first")


def _engines() -> Iterator[Finding]:
    """Look for what freestone works with besides, if somebody wants that."""
    program = "from mpi4py import MPI; print(MPI.Get_library_version().splitlines()[0])"
    done = _ran([sys.executable, "-c", program], timeout_s=_PROBE_TIMEOUT_S)
    if done is not None and done.returncode == 0:
        launcher = shutil.which("mpiexec", path=os.path.dirname(sys.executable))
        launcher = launcher or shutil.which("mpiexec") or "no mpiexec on the path"
        yield Finding("MPI", "ok", f"{done.stdout.strip()[:60]}, {launcher}")
    else:
        advice = "for ranks over MPI and jobs that are resized: pip install mpi4py mpich"
        yield Finding("MPI", "missing", "mpi4py finds no library", advice)
    path = shutil.which("sbatch")
    if path is None:
        advice = "for workers under Slurm, call freestone where Slurm's commands are"
        yield Finding("Slurm", "missing", "no sbatch on the path", advice)
    else:
        yield Finding("Slurm", "ok", path)


def _packages() -> Iterator[Finding]:
    """Compare the packages that freestone works with with the versions that it wants."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return
    old, known = [], 0
    for text in metadata.requires("freestone") or []:
        wanted = Requirement(text)
        with contextlib.suppress(metadata.PackageNotFoundError):
            version = metadata.version(wanted.name)
            known += 1
            if not wanted.specifier.contains(version, prereleases=True):
                old.append(f"{wanted.name} {version} is not {wanted.specifier}")
    if old:
        names = " ".join(one.split()[0] for one in dict.fromkeys(old))
        advice = f"pip install --upgrade {names}"
        yield Finding("packages", "missing", "; ".join(dict.fromkeys(old)), advice)
    else:
        yield Finding("packages", "ok", f"{known} of its requirements, all of versions that fit")


def _ran(words: list[str], timeout_s: float) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _installed,
    _packages,
    _settings,
    _folders,
    _shared_memory,
    _limits,
    _network,
    _cluster,
    _engines,
)
"""Each looks at one thing, and changes nothing that stays."""
