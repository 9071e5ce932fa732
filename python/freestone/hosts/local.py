"""Workers on this machine, as processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone import _native
from freestone.config import Config
from freestone.errors import ClosedError, ClusterStartError, ConfigurationError, UsageError
from freestone.hosts import node as nodes
from freestone.hosts.access import Access, Authority
from freestone.hosts.folders import Folders, runtime_dir
from freestone.hosts.naming import HeldName
from freestone.hosts.node import (
    Node,
    hostname,
    libraries,
    python_path,
    worker_words,
)
from freestone.hosts.pauses import Pauses
from freestone.hosts.survivors import Survivor, survivor
from freestone.observe.control import CARD, ControlServer

if TYPE_CHECKING:
    from freestone.hosts.engine import Host

__all__ = ["LocalWorkers"]

_ACCESS, _AUTHORITY = "access.json", "authority.json"
# How often to look whether the manager has given a worker up.
_POLL_INTERVAL_S = 1.0
# What a worker that has been asked to leave may take to end; and where there is a folder of results
# that are kept forever, which it copies until then.
_EXIT_TIMEOUT_S, _COPYING_TIMEOUT_S = 1.0, 20.0
# How often to look whether one that has not ended is stopped, as by SIGSTOP: it never would.
_LOOK_INTERVAL_S = 0.5


@dataclass(slots=True)
class LocalWorkers:
    """The folder, the key and the workers of a cluster on this machine.

    A worker that dies is started again, with an empty cache.
    """

    config: Config
    folders: Folders
    access: Access
    nodes: list[Node]
    authority: Authority | None
    journal: Path | None = None
    processes: dict[str, subprocess.Popen[bytes] | Survivor] = field(default_factory=dict)
    control: ControlServer | None = None
    closing: threading.Event = field(default_factory=threading.Event)
    retired: set[str] = field(default_factory=set)
    began: float = field(default_factory=time.time)
    starting: threading.Lock = field(default_factory=threading.Lock)
    held_name: HeldName | None = None
    joined: Callable[[], list[str]] = field(init=False)
    replaced: Callable[[Node], None] = field(init=False)

    @classmethod
    def create(cls, config: Config, journal: Path | None = None) -> LocalWorkers:
        """Make the folder, and sweep those whose clusters died.

        Parameters
        ----------
        config
            The cluster's settings.
        journal
            The folder of its journal, if it has one: then the folder, the key and the certificate
            are those of the process before.
        """
        _make_cache(config)
        base = runtime_dir(config)
        folders = Folders.create(base) if journal is None else Folders.take(base, journal)
        try:
            workers = config.workers or 1
            shares = [nodes.node(config, folders, str(n), workers) for n in range(workers)]
            authority = _authority(config, journal)
            access = _access(authority, journal)
        except BaseException:
            folders.remove()
            raise
        return cls(config, folders, access, shares, authority, journal)

    @property
    def folder(self) -> Path:
        """The cluster's, for sockets and blocks on disk."""
        return self.folders.path

    @property
    def socket(self) -> str:
        """Where workers join."""
        return str(self.folder / "manager.sock")

    @property
    def home(self) -> Node:
        """The worker whose cache the program shares: the first that was not let go."""
        return next(iter(self.present()), self.nodes[0])

    @property
    def members(self) -> Authority:
        """Who has access from other machines.

        Raises
        ------
        UsageError
            When the cluster does not listen for them.
        """
        if self.authority is None:
            raise UsageError(
                "the cluster listens on this machine only, where your user alone reaches it; open "
                "it with listen='tcp://HOST:PORT' to grant access from other machines"
            )
        return self.authority

    @property
    def revoked(self) -> list[str]:
        """The certificates of members that a former process has shut out."""
        return [] if self.authority is None else self.authority.revoked

    def grant(self, member: str) -> Access:
        """Return the access of a member that can be revoked."""
        return replace(self.access, identity=self.members.grant(member))

    @property
    def listening(self) -> tuple[str, str, tuple[str, str]] | None:
        """Where the manager listens for other machines: a place, its host, and the certificate."""
        if self.config.listen is None or self.access.identity is None:
            return None
        place = self.config.listen.removeprefix("tcp://")
        host, _, port = place.rpartition(":")
        former = self.access.address
        if port == "0" and former.startswith("tcp:"):
            # Programs and workers look for it where it was.
            place = f"{host}:{former.rpartition(':')[2]}"
        return place, hostname(), self.access.identity

    @property
    def listen(self) -> str | None:
        """The interface at which workers listen for peers of other machines."""
        return None if self.listening is None else self.listening[0].rpartition(":")[0].strip("[]")

    def start(
        self,
        address: str,
        joined: Callable[[], list[str]],
        replaced: Callable[[Node], None],
        meanwhile: Callable[[], object],
    ) -> None:
        """Start the workers and wait until all have joined.

        Parameters
        ----------
        address
            Where the manager listens.
        joined
            Tells the cache folders of the workers that have joined.
        replaced
            Called, on a thread, after a worker that died was started again.
        meanwhile
            Called once while they start, which takes longer than what it does.
        """
        self.access = self.access.at(address)
        self.access.write(self.access_file)
        if self.journal is not None:
            self.access.write(self.journal / _ACCESS)
            if self.authority is not None:
                self.authority.keep()
        self.joined, self.replaced = joined, replaced
        with self.starting:
            for node in self.nodes:
                self._begin(node)
        meanwhile()
        for node in self.nodes:
            self._admit(node)
        for node in self.nodes:
            self._keep(node)

    def present(self) -> list[Node]:
        """Return the nodes whose workers were not let go, in the order in which they came."""
        return [node for node in self.nodes if node.memory_dir not in self.retired]

    def grow(self, workers: int) -> None:
        """Start workers until there are `workers` that were not let go, and wait for each."""
        while len(here := self.present()) < workers:
            new = nodes.node(self.config, self.folders, str(len(self.nodes)), workers, besides=here)
            self.nodes.append(new)
            try:
                self._launch(new)
            except BaseException:
                self.let_go(new.memory_dir)
                if new.name in self.processes:
                    self.processes[new.name].kill()
                raise
            self._keep(new)

    def _launch(self, node: Node) -> None:
        with self.starting:
            self._begin(node)
        self._admit(node)

    def _begin(self, node: Node) -> None:
        if self.closing.is_set():
            raise ClosedError("start a worker")
        waiting = None if self.journal is None else survivor(node.memory_dir)
        self.processes[node.name] = waiting or self._start(node)

    def _admit(self, node: Node) -> None:
        """Have a worker join, and wait until it has.

        Interpreters start side by side, and workers join one after another, so that their numbers
        are those of their nodes.
        """
        process = self.processes[node.name]
        if isinstance(process, subprocess.Popen) and process.stdin is not None:
            # One that has ended is found below.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(b"\n")
                process.stdin.close()
        self._wait_for(node)

    def _keep(self, node: Node) -> None:
        """See to it that there is a worker on a node, on a thread."""
        name = f"freestone-node-{node.name}"
        threading.Thread(target=self._watch, args=(node,), name=name, daemon=True).start()

    def wait_for_any(self, host: Host, slots: Callable[[], int]) -> None:
        """Wait for the first worker of an engine, if one is sure to come."""
        deadline = time.monotonic() + self.config.start_timeout_s
        most = 0
        while not slots():
            joining = host.joining()
            if not joining:
                # The last may have joined since.
                if not most or slots():
                    return
                raise ClusterStartError(
                    f"{host.name} said that {most} workers would join, and now that none will; "
                    "they have ended, and what they printed says why"
                )
            most = max(most, joining)
            if time.monotonic() > deadline:
                raise ClusterStartError(
                    f"none of the {joining} workers of {host.name} has joined at "
                    f"{self.access.address} within {self.config.start_timeout_s} s; look at what "
                    "they printed, try listen= with an address that they reach, or raise "
                    "start_timeout_s"
                )
            time.sleep(0.01)

    def let_go(self, memory_dir: str) -> None:
        """Do not start the worker with this cache again when it has ended."""
        self.retired.add(memory_dir)

    def _wait_for(self, node: Node) -> None:
        deadline = time.monotonic() + self.config.start_timeout_s
        while node.memory_dir not in self.joined():
            self._check(node, deadline)
            time.sleep(0.001)

    def _watch(self, node: Node) -> None:
        joined: float | None = time.monotonic()
        pauses = Pauses()
        while True:
            self._wait_for_end(node)
            lived_s = 0.0 if joined is None else time.monotonic() - joined
            if self.closing.wait(pauses.after(lived_s)):
                return
            joined = None
            with self.starting:
                if self.closing.is_set() or node.memory_dir in self.retired:
                    return
                self.processes[node.name] = self._start(node)
            # It died at once, or the manager was closed meanwhile: the next round sees which.
            with contextlib.suppress(ClusterStartError, RuntimeError):
                self._admit(node)
                joined = time.monotonic()
                self.replaced(node)

    def _wait_for_end(self, node: Node) -> None:
        """Wait until a worker has ended; one that the manager has given up is ended.

        One that hangs does not end by itself when its connection does.
        """
        process = self.processes[node.name]
        missed = 0
        with contextlib.suppress(ProcessLookupError), ended(process) as has_ended:
            while not has_ended(_POLL_INTERVAL_S):
                missed = 0 if self._is_there(node) else missed + 1
                if missed > 1:
                    process.kill()
        process.wait()

    def _is_there(self, node: Node) -> bool:
        """Whether the manager knows a worker, or has let it go: it then takes its time."""
        if self.closing.is_set() or node.memory_dir in self.retired:
            return True
        # The manager may be closed meanwhile.
        with contextlib.suppress(RuntimeError):
            return node.memory_dir in self.joined()
        return True

    @property
    def access_file(self) -> Path:
        """The file with which workers join."""
        return self.folder / _ACCESS

    def _start(self, node: Node) -> subprocess.Popen[bytes]:
        words = worker_words(
            self.config, node, f"unix:{self.socket}", self.access_file, self.folder, self.listen
        )
        if self.journal is not None:
            words += ["--journaled", "1"]
        return subprocess.Popen(
            [sys.executable, "-m", "freestone.node.worker", *words, "--await-input", "1"],
            stdin=subprocess.PIPE,
            # A daemon may have closed its own, and sockets of the worker would take their numbers.
            stdout=None if sys.__stdout__ else subprocess.DEVNULL,
            stderr=None if sys.__stderr__ else subprocess.DEVNULL,
            env=libraries(sum(node.executors for node in self.nodes)) | os.environ | python_path(),
            process_group=0,
        )

    def _check(self, node: Node, deadline: float) -> None:
        status = self.processes[node.name].poll()
        if status is not None:
            raise ClusterStartError(
                f"worker {node.name} ended with status {status} before it had joined; "
                "what it printed says why"
            )
        if time.monotonic() > deadline:
            raise ClusterStartError(
                f"the workers did not join within {self.config.start_timeout_s} s; "
                "raise start_timeout_s on a slow machine"
            )

    def serve(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Tell `freestone status` of this cluster."""
        self._write_card()
        self.control = ControlServer(self.folder, answer)

    def _write_card(self) -> None:
        about = {"pid": os.getpid(), "started": self.began, "socket": self.socket}
        about |= {"address": self.access.address, "name": self.name}
        draft = self.folder / f"{CARD}.draft"
        draft.write_text(json.dumps(about))
        draft.replace(self.folder / CARD)

    @property
    def name(self) -> str | None:
        """The name by which other programs find this cluster, if it has one."""
        return None if self.held_name is None else self.held_name.name

    def share(self, name: str) -> None:
        """Have other programs find this cluster by a name."""
        if self.name is not None:
            raise UsageError(f"the cluster is shared as {self.name!r} already")
        self.held_name = HeldName(runtime_dir(self.config), name)
        self._write_card()

    def forget(self) -> None:
        """Let go of folders, and of connections that keep workers alive, in a forked child."""
        self.folders.forget()
        if self.held_name is not None:
            self.held_name.forget()
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                connection = socket.socket(fileno=int(name))
                if self._is_end_of(connection.getsockname()):
                    connection.close()
                else:
                    connection.detach()

    def _is_end_of(self, name: str | tuple[Any, ...]) -> bool:
        """Whether a connection of this name is one of the manager's."""
        if isinstance(name, str):
            return name == self.socket
        address = self.access.address
        return address.startswith("tcp:") and str(name[1]) == address.rpartition(":")[2]

    def start_closing(self) -> None:
        """Have no worker started again from now on."""
        with self.starting:
            self.closing.set()

    def close(self, *, in_order: bool = False) -> None:
        """Wait for the workers, kill those that stay, remove what they left.

        Parameters
        ----------
        in_order
            Nobody is to go on with this cluster: its journal goes, too.
        """
        self.start_closing()
        if self.control is not None:
            self.control.close()
        if self.held_name is not None:
            self.held_name.release()
            self.held_name = None
        copies = in_order and self.config.cache is not None
        deadline = time.monotonic() + (_COPYING_TIMEOUT_S if copies else _EXIT_TIMEOUT_S)
        processes = list(self.processes.values())
        for process in processes:
            # One that waits to be admitted finds no manager.
            if isinstance(process, subprocess.Popen) and process.stdin is not None:
                process.stdin.close()
        for process in processes:
            _end(process, deadline)
        if in_order:
            self._remove_journal()
        self.folders.remove()

    def _remove_journal(self) -> None:
        # The next process that serves by this name may have it already.
        if self.journal is not None:
            with contextlib.suppress(OSError):
                _native.folders.OwnedFolder.take(str(self.journal)).remove()


def _end(process: subprocess.Popen[bytes] | Survivor, deadline: float) -> None:
    """Wait for the end of a worker; kill one that is stopped, or takes too long."""
    # Woken by its end, where `Popen.wait` sleeps for up to 50 ms at a time.
    with contextlib.suppress(ProcessLookupError), ended(process) as has_ended:
        left_s = max(0.0, deadline - time.monotonic())
        while not has_ended(min(left_s, _LOOK_INTERVAL_S)):
            if left_s == 0.0 or _is_stopped(process.pid):
                process.kill()
                break
            left_s = max(0.0, deadline - time.monotonic())
    process.wait()


def _is_stopped(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] in "Tt"
    return False


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes] | Survivor) -> Iterator[Callable[[float], bool]]:
    """Give what tells whether a process has ended, after waiting for so many seconds at most."""
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        yield lambda timeout_s: bool(poll.poll(1000 * timeout_s))
    finally:
        os.close(descriptor)


def _authority(config: Config, journal: Path | None) -> Authority | None:
    """Make what lets in members of other machines, if the cluster listens for them."""
    if config.listen is None:
        return None
    return Authority(config.access_days, None if journal is None else journal / _AUTHORITY)


def _access(authority: Authority | None, journal: Path | None) -> Access:
    """Make the key of a cluster, and its certificate; those that it had, if it has a journal."""
    if journal is not None and (journal / _ACCESS).exists():
        former = Access.read(journal / _ACCESS)
        if former.identity is not None or authority is None:
            return former
    return Access.make(None if authority is None else authority.identity())


def _make_cache(config: Config) -> None:
    """Make the folder of kept blocks here, where an error can name the setting."""
    if config.cache is None:
        return
    try:
        os.makedirs(config.cache, mode=0o700, exist_ok=True)
    except OSError as error:
        problem = f"cache={config.cache!r} can't be a folder of kept blocks: {error.strerror}"
        origin = config.origins.get("cache", "default")
        raise ConfigurationError(problem, key="cache", origin=origin) from error
