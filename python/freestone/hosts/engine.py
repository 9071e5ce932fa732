"""What the hosts have in common: an engine's slots, and a worker in each."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from freestone import plugins
from freestone.config import Config
from freestone.errors import EngineMissingError, UsageError, did_you_mean
from freestone.hosts.access import Access

__all__ = [
    "GROUP",
    "Host",
    "end",
    "home_of",
    "launch",
    "listen_towards",
    "make_host",
    "require",
    "words",
]

GROUP = "freestone.hosts"
"""The entry points by which other packages offer hosts: functions that return a `Host`."""

# What a worker that was told to end may take to hand over what only it holds.
_EXIT_TIMEOUT_S = 25.0
_LOOPBACK = "tcp://127.0.0.1:0"


@runtime_checkable
class Host(Protocol):
    """An engine that starts workers somewhere.

    Another package offers a function that returns one, as an entry point of the group
    ``freestone.hosts``; `freestone.testing.check_host` tests it.

    Attributes
    ----------
    name : str
        The engine's.
    """

    name: str

    def listen(self) -> str:
        """Return where the manager has to listen so that the engine's machines reach it."""

    def start(self, access: Access, config: Config) -> None:
        """Start workers, and others when the engine grows."""

    def joining(self) -> int:
        """Return how many workers are sure to join soon; a cluster waits for the first."""

    def close(self) -> None:
        """End the workers that are left. Called once, also when `start` was not."""


def make_host(name: str, options: Mapping[str, Any]) -> Host:
    """Return a host of another package.

    Parameters
    ----------
    name
        The name of its entry point.
    options
        The keywords of the function there.

    Raises
    ------
    UsageError
        When no package offers the name, or the function takes other options.
    PluginError
        When what is offered can't be used.
    """
    if not isinstance(name, str):
        raise UsageError(f"Cluster.on({name!r:.80}): give the name of a host, as text")
    make = plugins.load(GROUP, name, object)
    if make is None:
        known = plugins.names(GROUP)
        hint = did_you_mean(name, known)
        offered = f"other packages offer {', '.join(known)}" if known else "no package offers any"
        problem = f"there is no host {name!r} among the entry points in {GROUP}{hint}"
        raise UsageError(
            f"{problem}; {offered}; see also Cluster.on_dask, on_mpi, on_ray, on_slurm"
        )
    if not callable(make):
        raise plugins.wrong(GROUP, name, "can't be called; it has to be a function of its options")
    _check_options(name, make, options)
    host = make(**options)
    if not isinstance(host, Host):
        reason = f"returns what is of type {type(host).__name__}; it has to return a Host"
        raise plugins.wrong(GROUP, name, reason)
    return host


def _check_options(name: str, make: Callable[..., Any], options: Mapping[str, Any]) -> None:
    try:
        inspect.signature(make).bind(**options)
    except TypeError as error:
        raise UsageError(f"the host {name!r} does not take these options: {error}") from None


def home_of(config: Config, host: Host) -> Config:
    """Return the settings of the program's own worker, which keeps blocks and runs nothing.

    Raises
    ------
    UsageError
        When the host is none, or does not say where to listen.
    """
    if not isinstance(host, Host):
        wanted = "a host has name, listen(), start(), joining() and close()"
        raise UsageError(f"host={host!r:.80} is of type {type(host).__name__}; {wanted}")
    listen = config.listen or host.listen()
    if not isinstance(listen, str):
        problem = f"listen() of the host {host.name!r} returns {listen!r:.80}"
        raise UsageError(f"{problem}; it has to return an address, such as 'tcp://127.0.0.1:0'")
    return dataclasses.replace(config, workers=1, executors=0, listen=listen)


def words(config: Config, executors: int | None = None) -> list[str]:
    """Return what `freestone worker` is told of the settings."""
    given = {
        "executors": config.executors or executors,
        "memory": config.memory,
        "disk": config.disk,
        "resources": config.resources or None,
        "profile": config.profile or None,
    }
    known = {key: value for key, value in given.items() if value is not None}
    return [word for key, value in known.items() for word in (f"--{key}", str(value))]


def launch(
    access: str,
    words: Sequence[str],
    python: Sequence[str] = (sys.executable,),
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a worker that ends, in good order, when this process does.

    The access goes through its standard input, so that no file and no argument holds the key.

    Parameters
    ----------
    access
        What `Access.text` returns.
    words
        What the worker is told of the settings; see `words`.
    python
        What starts Python there, such as ``["ssh", "node7", "python3"]``; by default this Python,
        on this machine.
    env
        Its environment variables; by default those of this process.
    """
    command = [*python, "-m", "freestone", "worker", "--quiet", "--access", "-", *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=env)
    if process.stdin is not None:
        line = json.dumps(json.loads(access))
        # If it has ended already, its status says why.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a worker that was launched go, and see to it that it does."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(_EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def require(module: str, engine: str, cure: str) -> ModuleType:
    """Import an engine's package.

    Raises
    ------
    EngineMissingError
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EngineMissingError(engine=engine, missing=str(error), cure=cure) from error


def listen_towards(host: str) -> str:
    """Return the address of this machine that `host` sees, with any free port."""
    if host in ("", "localhost"):
        return _LOOPBACK
    with contextlib.suppress(OSError):
        family, kind, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            # Nothing is sent: the system only chooses the interface.
            probe.connect(address)
            found = probe.getsockname()[0]
            return f"tcp://[{found}]:0" if ":" in found else f"tcp://{found}:0"
    return _LOOPBACK
