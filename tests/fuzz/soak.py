"""All fuzzers in turn for an hour, beside real load, with processes killed at random.

``python -m tests.fuzz.soak --seconds 3600 --seed 7``, or ``make soak``. Watched are memory,
descriptors, threads, zombies, folders and shared memory of all processes: what grows, and what is
left at the end, is a finding. The status is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from unittest.mock import patch

from tests.fuzz.__main__ import show, write
from tests.fuzz.fuzzers import FUZZERS
from tests.fuzz.load import LOADS
from tests.fuzz.running import MAX_LINE, MAX_OUTPUT, ROOT, Finding, run
from tests.fuzz.watching import Watcher

MAX_CASES = 10**9
NEWLINE = "\n"
# A turn of all fuzzers takes five minutes.
FUZZER_S = 20.0
SAMPLE_S = 2.0
ENDING_S = 120.0
MIN_LIFE_S, MAX_LIFE_S = 5.0, 30.0


def main(words: list[str] | None = None) -> int:
    """Soak, and show what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--json", type=Path, help="write the findings into this file, too")
    given = parser.parse_args(words)
    print(f"seed {given.seed}, {given.seconds:g} s", flush=True)
    with tempfile.TemporaryDirectory(prefix="freestone-soak-") as name:
        soak = Soak(Path(name), given.seed, given.seconds)
        soak.run()
    if given.json:
        write(soak.findings, given.json)
    return show(soak.findings)


class Soak:
    """One run: its folders, its processes and what was found so far."""

    def __init__(self, folder: Path, seed: int, seconds: float) -> None:
        self.findings: list[Finding] = []
        self._seed, self._seconds, self._folder = seed, seconds, folder
        self._end = time.monotonic() + seconds
        self._over = threading.Event()
        # Of clusters, and of all else that is put into temporary files.
        watched = [folder / "clusters", folder / "temporary"]
        for each in watched:
            each.mkdir(mode=0o700)
        self._watcher = Watcher(watched)
        self._environment = self._watcher.environment
        self._environment |= {"FREESTONE_FOLDER": str(watched[0]), "TMPDIR": str(watched[1])}

    def run(self) -> None:
        """Run everything until the time is over."""
        loads = [threading.Thread(target=self._load, args=(kind,)) for kind in LOADS]
        sampler = threading.Thread(target=self._sample)
        for thread in [*loads, sampler]:
            thread.start()
        with patch.dict(os.environ, self._environment):
            self._fuzz()
        for thread in loads:
            thread.join()
        self._over.set()
        sampler.join()
        for text in self._watcher.findings():
            self._find("watcher", self._seed, text)
        self._sweep()
        for text in self._left():
            self._find("watcher", self._seed, f"left at the end: {text}")

    def _fuzz(self) -> None:
        """Run fuzzers in turn, with new seeds in each turn."""
        seed = self._seed
        while time.monotonic() < self._end:
            for fuzzer in FUZZERS.values():
                left = self._end - time.monotonic()
                if left <= 0:
                    return
                outcome = run(fuzzer, seed, MAX_CASES, min(FUZZER_S * fuzzer.share, left))
                self.findings += outcome.findings
                if outcome.failure:
                    self._find(fuzzer.name, seed, f"could not run: {outcome.failure}")
                print(f"{fuzzer.name}: {outcome.cases} cases", flush=True)
            seed += MAX_CASES

    def _load(self, kind: str) -> None:
        """Run a load; one whose program is to be killed is started again and again."""
        folder, seed, status, reported = self._folder / kind, self._seed, 0, ""
        folder.mkdir()
        choose = random.Random(f"{seed} {kind}")
        while (left := self._end - time.monotonic()) > 0 and not status:
            is_killed = kind == "kept"
            life = choose.uniform(MIN_LIFE_S, MAX_LIFE_S) if is_killed else left + ENDING_S
            status, reported = self._program(kind, folder, [str(seed), str(left)], life)
            if is_killed and status == -signal.SIGKILL:
                status = 0
            if status:
                self._find(kind, seed, f"ended with status {status}\n{reported}")
            seed += 1
        print(f"{kind}: {seed - self._seed} programs, {reported.strip().rpartition(NEWLINE)[2]}")
        report = folder / "report"
        for line in report.read_text("utf-8").splitlines() if report.exists() else []:
            note = json.loads(line)
            self._find(kind, note["seed"], note["text"])

    def _program(self, kind: str, folder: Path, given: list[str], life: float) -> tuple[int, str]:
        """Run a program of load, and kill it when its life is over."""
        words = [sys.executable, "-m", "tests.fuzz.load", kind, str(folder), *given]
        with (folder / "output").open("w+") as output:
            program = subprocess.Popen(
                words, cwd=ROOT, env=self._environment, stdout=output, stderr=subprocess.STDOUT
            )
            try:
                status = program.wait(life)
            except subprocess.TimeoutExpired:
                program.kill()
                status = program.wait()
            output.seek(0)
            return status, output.read()[-MAX_OUTPUT:]

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self._watcher.sample()

    def _sweep(self) -> None:
        """Open a cluster, which removes what those that were killed have left."""
        program = "import freestone as fs; fs.Cluster(workers=1, executors=1).close()"
        words = [sys.executable, "-c", program]
        done = subprocess.run(
            words, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            text = f"no cluster can be opened at the end\n{done.stderr[-MAX_OUTPUT:]}"
            self._find("watcher", self._seed, text)

    def _left(self) -> list[str]:
        """What is there once processes had time to end."""
        deadline = time.monotonic() + ENDING_S
        while (left := self._watcher.left()) and time.monotonic() < deadline:
            time.sleep(SAMPLE_S)
        return left

    def _find(self, fuzzer: str, seed: int, text: str) -> None:
        command = f"python -m tests.fuzz.soak --seed {self._seed} --seconds {self._seconds:g}"
        short = text.partition("\n")[0][:MAX_LINE]
        self.findings.append(Finding(f"soak of {fuzzer}", seed, short, text, command))


if __name__ == "__main__":
    sys.exit(main())
