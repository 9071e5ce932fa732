"""Measure events between two ranks, and tasks, against what they are made of.

One way and small ones a second, for 8 B, 1 KiB and 1 MiB: freestone from C over its rings and over
MPI, between threads over TLS, and from Python, against MPI in C, mpi4py, a unix socket and a bare
ring in shared memory. Then tasks without dependencies, with a thousand, and among many others that
wait. The programs are in `ranks/`, compiled here. One way is half of a turn, the median of 50
batches of turns (over TLS the mean of all): what else has the processor for a moment does not
count.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots

QUESTION = "How long does an event take, how many are there a second, and what does a task cost?"
SOURCES = common.ROOT / "benchmarks" / "ranks"
SUBJECTS = (
    "freestone, rings",
    "freestone, MPI",
    "freestone, TLS",
    "freestone, Python",
    "freestone, tasks",
    "MPI in C",
    "MPI in C, one thread",
    "mpi4py",
    "unix socket",
    "bare ring",
)
UNITS = {"us": "us one way", "events": "events/s", "tasks": "tasks/s", "submits": "tasks/s"}


class Programs:
    """The programs that are timed, compiled into a folder."""

    def __init__(self, folder: Path, scale: int) -> None:
        self._folder, self._scale = folder, str(scale)
        bin_folder = Path(sys.executable).parent
        self._path = f"{bin_folder}:{os.environ['PATH']}"
        cargo = ["cargo", "build", "--release", "--locked", "-q"]
        self._run([*cargo, "-p", "freestone-events-c"])
        self._run([*cargo, "-p", "freestone-events", "--example", "rates"])
        target = Path(os.environ.get("CARGO_TARGET_DIR", common.ROOT / "target")) / "release"
        self._rates = target / "examples" / "rates"
        script = common.ROOT / "crates" / "install" / "install.sh"
        self._run([str(script), "events", str(target), str(folder), "0"])
        library = folder / "lib"
        linked = [f"-I{folder / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}"]
        self._compile("cc", "events", *linked, "-lfreestone_events")
        self._compile("cc", "plain")
        if shutil.which("mpicc_abi", path=self._path):
            rpath = f"-Wl,-rpath,{bin_folder.parent / 'lib'}"
            self._compile("mpicc_abi", "mpi", rpath)

    def _run(self, words: list[str]) -> None:
        environment = {**os.environ, "PATH": self._path}
        subprocess.run(words, cwd=common.ROOT, check=True, env=environment)

    def _compile(self, compiler: str, name: str, *flags: str) -> None:
        source, program = str(SOURCES / f"{name}.c"), str(self._folder / name)
        self._run([compiler, "-O2", source, *flags, "-o", program])

    def words(self, subject: str) -> tuple[list[str], dict[str, str]]:
        """Return the command of a subject, and what it wants in its environment."""
        program, scale = self._folder, self._scale
        both = ["mpiexec", "-n", "2"]
        python = [sys.executable, str(SOURCES / "python.py"), scale]
        events = str(program / "events")
        words = {
            "freestone, rings": [events, scale],
            "freestone, MPI": [*both, events, scale],
            "freestone, TLS": [str(self._rates), scale, "tls"],
            "freestone, Python": [*python, "events"],
            "freestone, tasks": [events, scale],
            "MPI in C": [*both, str(program / "mpi"), scale],
            "MPI in C, one thread": [*both, str(program / "mpi"), scale, "single"],
            "mpi4py": [*both, *python, "mpi4py"],
            "unix socket": [str(program / "plain"), scale, "socket"],
            "bare ring": [str(program / "plain"), scale, "ring"],
        }[subject]
        ranks = "1" if subject == "freestone, tasks" else "2"
        return words, {**os.environ, "PATH": self._path, "FREESTONE_EVENTS_RANKS": ranks}

    def measure(self, report: common.Report, subject: str) -> None:
        """Add one turn's figures."""
        words, environment = self.words(subject)
        if shutil.which(words[0], path=self._path) is None:
            report.absent[subject] = f"there is no {words[0]}; pip install mpich"
            return
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode != 0:
            report.absent[subject] = done.stderr.strip()[-200:] or f"exit {done.returncode}"
            return
        for line in done.stdout.splitlines():
            for case, value in json.loads(line).items():
                report.add(subject, case, value, UNITS.get(case.split("_")[0], "x"))


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""

    def found(subject: str, case: str) -> float | None:
        return report.median(f"freestone, {subject}", case)

    def by(subject: str, peer: str, case: str) -> float | None:
        return common.ratio(found(subject, case), report.median(peer, case))

    over_mpi, over_mpi_large = (by("MPI", "MPI in C", case) for case in ("us_8", "us_1048576"))
    over_ring = by("rings", "bare ring", "us_8")
    copied = common.ratio(found("tasks", "us_copy"), found("rings", "us_1048576"))
    python = max(found("Python", case) or 0.0 for case in ("events", "events_greedy"))
    return [
        common.at_most("8 B one way in rings", found("rings", "us_8"), 1.0, "us"),
        common.at_most("8 B one way in rings, by the bare ring", over_ring, 1.2, "x"),
        common.at_most("8 B one way over MPI, by MPI in C", over_mpi, 1.3, "x"),
        common.at_most("1 MiB one way over MPI, by MPI in C", over_mpi_large, 1.2, "x"),
        common.at_least("small events in rings", found("rings", "events"), 5e6, "events/s"),
        common.at_least("1 MiB in rings, by copy bandwidth", copied, 0.8, "x"),
        common.at_least("small events from Python", python or None, 300_000, "events/s"),
        common.at_least("tasks without dependencies", found("tasks", "tasks"), 5e6, "tasks/s"),
        common.at_least("a million tasks from C", found("tasks", "tasks_million"), 8e6, "tasks/s"),
        common.at_most(
            "a task with 1,000 dependencies, by one with 1",
            found("tasks", "dependencies"),
            1000,
            "x",
        ),
        common.at_most(
            "an event while 100,000 tasks wait, by while 10 do", found("tasks", "waiting"), 1.5, "x"
        ),
    ]


def picture(report: common.Report) -> plots.Picture:
    """Return a panel for each case."""
    cases = {
        "us_8": ("8 B one way", "µs, lower is better"),
        "us_1024": ("1 KiB one way", "µs, lower is better"),
        "us_1048576": ("1 MiB one way", "µs, lower is better"),
        "events": ("Small events, a task each", "a second"),
    }
    panels = [plots.Panel(*words, report.series(case)) for case, words in cases.items()]
    return plots.Dots("Events between two ranks", panels, list(SUBJECTS))


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("events", QUESTION, list(SUBJECTS))
    before = common.machine()
    report = common.Report(QUESTION)
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(Path(folder), 1 if options.quick else 5)

        def measure(subject: str) -> None:
            if subject not in report.absent:
                programs.measure(report, subject)

        common.interleave(options.rounds, options.only or SUBJECTS, measure)
    report.notes += [
        "events: 8 B each, and a task for each; events_greedy: a task takes all that are there",
        "MPI in C, mpi4py: no task is run; a receive is waiting for each message",
        "MPI in C: with MPI_THREAD_MULTIPLE, which events need; one thread: MPI_THREAD_SINGLE",
        "freestone, TLS: two ranks in one process, which talk over the loopback interface",
    ]
    report.claims = claims(report)
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
