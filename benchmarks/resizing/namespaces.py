"""Network namespaces as hosts: a bridge between them, and a rate on every link.

Needs root, `ip` and `tc`. Everything is named after this process, and taken away at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SUBNET = "10.87.3"
# Hydra calls this as it would ssh: options, a host, and a command.
LAUNCHER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec ip netns exec "@PREFIX@$(echo "$host" | cut -d. -f4)" sh -c "$*"
"""


class NoNamespacesError(Exception):
    """Namespaces can't be made here, and why."""


def missing() -> str | None:
    """Say what is lacking here."""
    lacking = [program for program in ("ip", "tc") if shutil.which(program) is None]
    if lacking:
        return f"no {', '.join(lacking)}"
    return None if os.getuid() == 0 else "namespaces need root"


@contextlib.contextmanager
def hosts(count: int, rate: str) -> Iterator[list[str]]:
    """Make hosts whose links have a rate such as ``1gbit``; yield the words of `mpiexec` on them.

    Raises
    ------
    NoNamespacesError
        If it can't be done here.
    """
    problem = missing()
    if problem is not None:
        raise NoNamespacesError(problem)
    prefix = f"fs{os.getpid()}-"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "launch")
        script.write_text(LAUNCHER.replace("@PREFIX@", prefix))
        script.chmod(script.stat().st_mode | stat.S_IEXEC)
        try:
            _make(prefix, count, rate)
            yield _mpiexec(prefix, count, script)
        finally:
            for index in range(count + 1):
                with contextlib.suppress(NoNamespacesError):
                    _ip("netns", "delete", f"{prefix}{index}")


def _make(prefix: str, count: int, rate: str) -> None:
    switch = f"{prefix}0"
    _ip("netns", "add", switch)
    _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
    _ip("-n", switch, "link", "set", "bridge", "up")
    for index in range(1, count + 1):
        name = f"{prefix}{index}"
        _ip("netns", "add", name)
        pair = ("type", "veth", "peer", "name", f"port{index}", "netns", switch)
        _ip("-n", name, "link", "add", "eth0", *pair)
        _ip("-n", switch, "link", "set", f"port{index}", "master", "bridge", "up")
        _ip("-n", name, "addr", "add", f"{SUBNET}.{index}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            _ip("-n", name, "link", "set", link, "up")
        for space, link in ((name, "eth0"), (switch, f"port{index}")):
            shape = ("rate", rate, "burst", "1mb", "latency", "20ms")
            _say("tc", "-n", space, "qdisc", "add", "dev", link, "root", "tbf", *shape)


def _mpiexec(prefix: str, count: int, script: Path) -> list[str]:
    beside = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    names = [f"{SUBNET}.{index}" for index in range(1, count + 1)]
    # Without the first UCX sees that all is one kernel, and takes shared memory; it warns on
    # standard output.
    settings = ("UCX_TLS=tcp,self", "UCX_LOG_LEVEL=error")
    return [
        *("ip", "netns", "exec", f"{prefix}1", "env", *settings, beside),
        *("-launcher", "ssh", "-launcher-exec", str(script), "-localhost", names[0]),
        *("-hosts", ",".join(names), "-ppn", "1"),
    ]


def _ip(*words: str) -> None:
    _say("ip", *words)


def _say(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0:
        raise NoNamespacesError(f"{' '.join(words)}: {done.stderr.strip()}")
