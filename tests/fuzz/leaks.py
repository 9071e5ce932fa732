"""A program that leaks what its word says, by a bit for each line that it reads."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.fuzz.watching import SHARED_MEMORY

kept: list[Any] = []


def leak(what: str, folder: Path) -> None:
    """Leak once."""
    if what == "memory":
        kept.append(b"x" * (8 << 20))
    elif what == "descriptors":
        kept.extend(os.open("/dev/null", os.O_RDONLY) for _ in range(4))
    elif what == "threads":
        kept.append(threading.Thread(target=threading.Event().wait, daemon=True))
        kept[-1].start()
    elif what == "files":
        for _ in range(4):
            os.close(tempfile.mkstemp(dir=folder)[0])
    elif what == "shared memory" and not kept:
        kept.append(SHARED_MEMORY / f"{os.getpid()}-leak")
        SHARED_MEMORY.mkdir(mode=0o700, exist_ok=True)
        kept[0].mkdir()
        (kept[0] / "block").touch()
    elif what == "zombie" and not kept:
        kept.append(subprocess.Popen(["true"]))
        os.waitid(os.P_PID, kept[0].pid, os.WEXITED | os.WNOWAIT)
    elif what == "process" and not kept:
        kept.append(subprocess.Popen(["sleep", "3600"], start_new_session=True))


if __name__ == "__main__":
    for _ in sys.stdin:
        leak(sys.argv[1], Path(sys.argv[2]))
        print("leaked", flush=True)
    os._exit(0)
