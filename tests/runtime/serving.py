"""Programs of their own, for tests of clusters that several use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from tests.waiting import state_of, until

ROOT = Path(__file__).parents[2]
SMALL = ["--executors=2", "--memory=64MiB", "--disk=64MiB"]


class Program:
    """A Python program in another process, which the test speaks to line by line."""

    def __init__(self, text: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"FREESTONE_FOLDER": str(folder)},
        )

    def read(self) -> str:
        """Wait for the next line that it prints."""
        return self._of(self._process.stdout).readline().strip()

    def write(self, line: str) -> None:
        """Have it read a line."""
        stream = self._of(self._process.stdin)
        stream.write(line + "\n")
        stream.flush()

    def kill(self) -> None:
        """End it without giving it a chance, and wait for that."""
        self._process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Wait for its end; its status."""
        status = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            self._of(stream).close()
        return status

    @staticmethod
    def _of(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream


class Server:
    """`freestone serve --name lab` in a process of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self._words = folder, words
        self.start()

    def start(self) -> None:
        """Serve, and wait until programs can connect."""
        served = self.run("serve", "--json", "--background", "--name=lab", *SMALL, *self._words)
        assert served.returncode == 0, served.stderr
        self.pid: int = json.loads(served.stdout)["pid"]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of freestone's, and wait for its end."""
        return subprocess.run(
            [sys.executable, "-m", "freestone", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=os.environ | {"FREESTONE_FOLDER": str(self.folder)},
        )

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End the process, not its workers."""
        os.kill(self.pid, number)
        assert until(lambda: not os.path.exists(f"/proc/{self.pid}/cmdline") or self._is_dead())

    def _is_dead(self) -> bool:
        return state_of(self.pid) == "Z"

    def log(self) -> str:
        """Return what the process prints that serves now."""
        return (self.folder / "lab.log").read_text()
