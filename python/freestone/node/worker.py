"""The process of a worker: sockets, cache and executors, all of it native."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Callable, Sequence

from freestone import _native
from freestone.hosts.access import Access
from freestone.units import parse_resources

__all__ = ["main"]

_NUMBER_NBYTES = 32

ForkServer = tuple[int, int, list[str]]
"""Its connection, its process id, and the command that starts another one."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="freestone worker", description=__doc__)
    parser.add_argument("--manager", required=True, metavar="ADDRESS", help="unix:... or tcp:...")
    parser.add_argument("--access", required=True, metavar="FILE", help="the cluster's")
    parser.add_argument("--listen", help="host or interface for peers of other machines")
    parser.add_argument("--reconnect-s", type=float, default=30.0)
    parser.add_argument(
        "--journaled", type=int, default=0, help="wait for one of this machine, too"
    )
    parser.add_argument("--await-input", type=int, default=0, help="join once something is read")
    parser.add_argument("--interruptible", type=int, default=0, help="SIGINT ends it, as SIGTERM")
    parser.add_argument("--folder", required=True, help="for its socket")
    parser.add_argument("--memory-dir", required=True, help="its cache's memory tier")
    parser.add_argument("--disk-dir", required=True, help="its cache's disk tier")
    parser.add_argument("--cache", help="folder of blocks that are kept forever")
    parser.add_argument("--executors", type=int, default=1, help="calls that run at once")
    parser.add_argument("--ram", type=int, required=True, help="bytes that calls may take")
    parser.add_argument("--memory", type=int, required=True, help="bytes of the memory tier")
    parser.add_argument("--disk", type=int, required=True, help="bytes of the disk tier")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--resources", default="", help="custom ones: name=amount,...")
    parser.add_argument("--transfers-in", type=int, default=4)
    parser.add_argument("--transfers-out", type=int, default=4)
    parser.add_argument("--scrub-nbytes-s", type=int, default=32 << 20)
    parser.add_argument("--links", type=int, default=0)
    parser.add_argument("--stopped-s", type=float, default=10.0)
    parser.add_argument("--spin-us", type=int, default=50)
    parser.add_argument("--inline-nbytes", type=int, default=8192)
    parser.add_argument("--preload", default="")
    parser.add_argument("--profile", type=float, default=0.0, help="seconds between samples")
    return parser


def main(
    argv: Sequence[str] | None = None,
    start: Callable[[list[str]], ForkServer] = _native.worker.start_fork_server,
) -> None:
    """Run a worker until its manager ends.

    Parameters
    ----------
    argv
        The words of its command line; those of this process by default.
    start
        Starts a fork server, by its command if it is a program of its own.
    """
    options = _parser().parse_args(argv)
    # Executors inherit these.
    for name in ("inline_nbytes", "spin_us", "memory", "disk", "preload", "profile"):
        os.environ[f"FREESTONE__{name.upper()}"] = str(getattr(options, name))
    # Tasks that submit tasks reach the manager as the worker does.
    os.environ["FREESTONE__MANAGER"] = options.manager
    os.environ["FREESTONE__ACCESS"] = os.path.abspath(options.access)
    # It imports what executors need while this process joins the cluster.
    command = _python("freestone.node.fork_server")
    run(options, start(command) if options.executors else None)


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", module]


def run(options: argparse.Namespace, fork_server: ForkServer | None) -> None:
    """Run it; a cluster that was closed meanwhile has no use for it, which is no error.

    One that nobody closed, as its program was killed, is worth a line.
    """
    try:
        access = Access.read(options.access)
        if options.await_input:
            _await_input()
        _run(options, access, fork_server)
    except OSError as error:
        kind, _, path = options.manager.partition(":")
        if kind != "unix" or _is_listening(path):
            raise
        if os.path.exists(path):
            sys.exit(f"freestone worker: {error}; the program that it belonged to has ended")


def _is_listening(path: str) -> bool:
    """Tell whether a process listens at a socket; one that was killed leaves it behind."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def _await_input() -> None:
    """Wait for a byte of standard input, which is empty from then on, or for its end."""
    os.read(0, 1)
    _empty_input()


def _empty_input() -> None:
    """Have nothing in standard input from now on."""
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def _run(options: argparse.Namespace, access: Access, fork_server: ForkServer | None) -> None:
    _native.worker.run_worker(
        manager=options.manager,
        key=access.key,
        identity=access.identity,
        listen=options.listen,
        reconnect_s=options.reconnect_s,
        journaled=bool(options.journaled),
        folder=options.folder,
        memory_dir=options.memory_dir,
        disk_dir=options.disk_dir,
        cache=options.cache,
        executors=options.executors,
        ram=options.ram,
        memory=options.memory,
        disk=options.disk,
        gpus=options.gpus,
        resources=parse_resources(options.resources),
        spin_us=options.spin_us,
        stopped_s=options.stopped_s,
        transfers_in=options.transfers_in,
        transfers_out=options.transfers_out,
        scrub_nbytes_s=options.scrub_nbytes_s,
        links=bool(options.links),
        executor_command=_python("freestone.node.executor"),
        fork_server=fork_server,
        interruptible=bool(options.interruptible),
    )


def _fork_server(command: list[str]) -> ForkServer:
    """Fork a fork server: it has the interpreter and what this process has imported.

    For a worker that is a program of its own, and has neither threads nor folders as yet.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    between = os.fork()
    if between == 0:
        # As an executor's, its parent is this process, which it dies with.
        if _native.executor.fork_sibling():
            os._exit(0)
        from freestone.node import fork_server

        ours.close()
        theirs.send(str(os.getpid()).encode())
        _empty_input()
        fork_server.serve(theirs)
        sys.exit()
    theirs.close()
    os.waitpid(between, 0)
    number = ours.recv(_NUMBER_NBYTES)
    return ours.detach(), int(number), command


if __name__ == "__main__":
    main(start=_fork_server)
    # The cluster waits for its end. All is let go of by now: to take the interpreter apart as well
    # would take 10 ms.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
