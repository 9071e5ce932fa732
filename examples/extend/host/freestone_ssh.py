"""Workers on machines that are reached by ssh."""

import subprocess
from collections.abc import Sequence

from freestone.config import Config
from freestone.errors import ClusterStartError, UsageError
from freestone.hosts import Access, end, launch, listen_towards, words


class SshHost:
    """A worker on each of some machines, which have Python with freestone.

    Parameters
    ----------
    machines
        Their names.
    shell
        What runs a command on a machine: its name and the command are added.
    python
        Python there.
    """

    name = "ssh"

    def __init__(
        self,
        machines: Sequence[str],
        shell: Sequence[str] = ("ssh", "-o", "BatchMode=yes"),
        python: str = "python3",
    ) -> None:
        if not machines:
            raise UsageError("no machines were given; name at least one")
        self._commands = [[*shell, machine, python] for machine in machines]
        self._first = machines[0]
        self._workers: list[subprocess.Popen[bytes]] = []

    def listen(self) -> str:
        """Listen where the machines see this one."""
        return listen_towards(self._first)

    def start(self, access: Access, config: Config) -> None:
        """Start a worker on each; the access goes through its standard input."""
        for command in self._commands:
            self._workers.append(launch(access.text(), words(config), command))

    def joining(self) -> int:
        """Return how many are sure to join: those that have not ended."""
        left = [worker for worker in self._workers if worker.poll() is None]
        if self._workers and not left:
            ended = [worker.returncode for worker in self._workers]
            raise ClusterStartError(f"the commands have ended with status {ended}")
        return len(left)

    def close(self) -> None:
        """End the workers: closing their standard input lets them leave in good order."""
        for worker in self._workers:
            end(worker)
        self._workers.clear()
