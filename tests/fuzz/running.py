"""Runs fuzzers, each in a process of its own, and gathers what they find.

A process that dies is a finding of the seed that it was at; another one goes on after it.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzers import Fuzzer
from tests.fuzz.worker import NONE_YET

__all__ = ["Finding", "Outcome", "run", "run_seeds"]

ROOT = Path(__file__).resolve().parents[2]
MAX_FINDINGS = 10
MAX_OUTPUT = 4000
MAX_LINE = 300
# The address space is bounded, and threads that do nothing here take some.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# A process that is started by a large one counts as having been as large itself; a shell is small.
SMALL = ["sh", "-c", '"$@"; exit $?', "sh"]


@dataclass(frozen=True)
class Finding:
    """A case that is not as it should be.

    Attributes
    ----------
    fuzzer : str
        By its name.
    seed : int
        Of the case.
    text : str
        What is wrong, in a line.
    detail : str
        All that is known of it.
    command : str
        What shows it again.
    """

    fuzzer: str
    seed: int
    text: str
    detail: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        if not self.command:
            command = f"python -m tests.fuzz {self.fuzzer} --seed {self.seed} --cases 1"
            object.__setattr__(self, "command", command)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


@dataclass
class Outcome:
    """What came of a run of a fuzzer.

    Attributes
    ----------
    fuzzer : str
        By its name.
    first : int
        The first seed.
    cases : int
        How many were tried.
    findings : list of Finding
        Those that were wrong.
    failure : str
        Why it could not start, if it could not.
    """

    fuzzer: str
    first: int
    cases: int = 0
    findings: list[Finding] = field(default_factory=list)
    failure: str = ""


def run(fuzzer: Fuzzer, first: int, cases: int, seconds: float) -> Outcome:
    """Try seeds from the first on, so many of them or for so long."""
    outcome, end = Outcome(fuzzer.name, first), first + cases
    until = time.monotonic() + seconds
    while first < end and not outcome.failure and len(outcome.findings) < MAX_FINDINGS:
        left = until - time.monotonic()
        if outcome.cases and left < 0:
            break
        last = _try(fuzzer, ["--range", str(first), str(end)], max(left, 0.0), outcome)
        if last is None:
            break
        first = last + 1
    return outcome


def run_seeds(fuzzer: Fuzzer, seeds: Sequence[int]) -> Outcome:
    """Try some seeds."""
    outcome, left = Outcome(fuzzer.name, min(seeds, default=0)), list(seeds)
    while left and not outcome.failure:
        last = _try(fuzzer, [*map(str, left)], float("inf"), outcome)
        if last is None:
            break
        left = left[left.index(last) + 1 :]
    return outcome


def _try(fuzzer: Fuzzer, seeds: list[str], seconds: float, outcome: Outcome) -> int | None:
    """Run one process; the seed of which it died, if it did."""
    with tempfile.TemporaryDirectory(prefix="freestone-fuzz-") as name:
        folder = Path(name)
        (folder / "seed").write_bytes(struct.pack("<q", NONE_YET))
        (folder / "report").touch()
        words = [*SMALL, sys.executable, "-m", "tests.fuzz.worker"]
        words += [fuzzer.as_json(), name, str(seconds)]
        with (folder / "output").open("ab") as output:
            done = subprocess.run(
                [*words, *seeds],
                cwd=ROOT,
                env={**os.environ, **(ONE_THREAD if fuzzer.is_bounded else {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        is_over = _read_report(fuzzer, folder, outcome)
        (at,) = struct.unpack("<q", (folder / "seed").read_bytes())
        reported = (folder / "output").read_text("utf-8", "replace")[-MAX_OUTPUT:]
    if is_over and done.returncode == 0:
        return None
    if at == NONE_YET:
        outcome.failure = f"{_ended(done.returncode)}\n{reported}"
        return None
    outcome.findings.append(Finding(fuzzer.name, at, _ended(done.returncode), reported))
    return int(at)


def _read_report(fuzzer: Fuzzer, folder: Path, outcome: Outcome) -> bool:
    """Take over what a process has noted; whether it came to its end."""
    is_over = False
    for line in (folder / "report").read_text("utf-8").splitlines():
        reported = json.loads(line)
        if "cases" in reported:
            outcome.cases += reported["cases"]
            is_over = True
        else:
            short = reported["text"].strip().partition("\n")[0][:MAX_LINE]
            outcome.findings.append(Finding(fuzzer.name, reported["seed"], short, reported["text"]))
    return is_over


def _ended(status: int) -> str:
    if status < 0:
        return f"its process was ended by {signal.Signals(-status).name}"
    if status > 128 and status - 128 in set(signal.Signals):
        return f"its process was ended by {signal.Signals(status - 128).name}"
    return f"its process ended with status {status}"
