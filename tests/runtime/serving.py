"""Programs of their own, for tests of clusters that several use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


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
