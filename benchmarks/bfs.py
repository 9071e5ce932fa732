"""Measure how many edges a second a breadth-first search traverses, in the Graph500 benchmark.

`examples/graph500` in both its kernels on one rank and two, SciPy and python-graphblas on the same
graph from the same roots, as harmonic means over the roots; and the Graph500 reference, as it was
measured on another machine of this kind.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns

QUESTION = "How many edges a second does a breadth-first search traverse?"
SCALES = (16, 18, 20, 22)
QUICK = (16,)
KERNELS = ("levels", "directions")
RANKS = (1, 2)
OWN = [f"{kernel}, {ranks} rank{'s'[: ranks - 1]}" for kernel in KERNELS for ranks in RANKS]
PEERS = ("scipy", "graphblas")
ROOTS = 64
TIMED = {16: 64, 18: 32, 20: 16, 22: 8}
"""So many of the roots are searched from in each round, by all, and make up the figures."""

REFERENCE = {1: {16: 114, 18: 84, 20: 63}, 2: {16: 71, 18: 64, 20: 62}}
"""The best MTEPS that the Graph500 reference reached on two cores, by ranks and scale."""
WANTED = {"levels": 3, "directions": 15}
MAX_S = 200


class Runner:
    """Runs `graph500`; knows the roots of each scale, and what a search from each traverses."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.searches: dict[int, list[dict[str, Any]]] = {}
        self.checked: set[tuple[int, str, int]] = set()

    def own(self, scale: int, kernel: str, ranks: int) -> dict[str, Any]:
        """Run a benchmark: the first time the whole of it, with every tree checked."""
        out, key = self.folder / "own.json", (scale, kernel, ranks)
        words = ["--scale", scale, "--kernel", kernel, "--ranks", ranks, "--json", out]
        again = ["--roots", TIMED[scale], "--skip-check"]
        self._run(*words, *(again if key in self.checked else ["--roots", ROOTS]))
        self.checked.add(key)
        found: dict[str, Any] = json.loads(out.read_text())
        self.searches[scale] = found["searches"]
        return found

    def peer(self, name: str, scale: int) -> dict[str, Any]:
        """Let somebody else search the same graph from the first of the same roots."""
        path = self.folder / f"{scale}.edges"
        if not path.exists():
            self._run("--scale", scale, "--edges", path)
        roots = [search["root"] for search in self.searches[scale]][: TIMED[scale]]
        target = f"benchmarks.searches.{name}:measure"
        return turns.take(target, path=str(path), scale=scale, roots=roots)

    def mteps(self, scale: int, seconds: list[float]) -> float:
        """Return the harmonic mean over the first roots, in millions of edges a second."""
        edges = [search["edges"] for search in self.searches[scale]]
        inverse = [second / count for second, count in zip(seconds, edges, strict=False)]
        return len(inverse) / float(sum(inverse)) / 1e6

    def _run(self, *words: object) -> None:
        command = [str(self.program), *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=MAX_S)


def build() -> Path:
    """Build `graph500`; where it is."""
    words = ["build", "--release", "--locked", "--quiet", "-p", "graph500"]
    cargo = shutil.which("cargo")
    if cargo is None:
        raise SystemExit("benchmarks/bfs.py builds examples/graph500: cargo was not found")
    subprocess.run([cargo, *words], cwd=common.ROOT, check=True)
    return common.ROOT / "target" / "release" / "graph500"


def take(report: common.Report, runner: Runner, subject: str, scale: int) -> None:
    """Take a subject's turn at a scale."""
    case = f"scale {scale}"
    if subject in PEERS:
        found = runner.peer(subject, scale)
        if "absent" in found:
            report.absent[f"{subject}, {case}"] = found["absent"]
            return
        seconds = found["seconds"]
        report.add(subject, case, runner.mteps(scale, seconds), "MTEPS", roots=len(seconds))
        return
    kernel, ranks = subject.split(", ")
    found = runner.own(scale, kernel, int(ranks.split()[0]))
    seconds = [search["search_s"] for search in found["searches"]][: TIMED[scale]]
    mteps = runner.mteps(scale, seconds)
    construction_s = found["construction_s"]
    report.add(subject, case, mteps, "MTEPS", roots=len(seconds), construction_s=construction_s)
    if found["checked"]:
        whole = found["harmonic_mean_teps"] / 1e6
        report.add(subject, f"{case}, {ROOTS} roots, all trees valid", whole, "MTEPS")


def claims(report: common.Report, scale: int) -> list[common.Claim]:
    """Compare with the reference on two ranks, and with the peers."""
    case = f"scale {scale}"

    def of(subject: str) -> float | None:
        return report.median(subject, case)

    found = []
    for kernel, wanted in WANTED.items():
        value = common.ratio(of(f"{kernel}, 2 ranks"), REFERENCE[2].get(scale))
        found.append(common.at_least(f"{kernel} over the reference, {case}", value, wanted, "x"))
    for peer in PEERS:
        value = common.ratio(of("directions, 2 ranks"), of(peer))
        found.append(common.at_least(f"directions over {peer}, {case}", value, 1, "x"))
    return found


def picture(report: common.Report) -> plots.Picture:
    """Return the rates against the scale."""

    def line(subject: str) -> plots.Line:
        cases = report.figures.get(subject, {})
        scales = [scale for scale in SCALES if f"scale {scale}" in cases]
        medians = [cases[f"scale {scale}"]["median"] for scale in scales]
        return plots.Line(subject, scales, medians)

    known = REFERENCE[2]
    reference = plots.Line("reference, 2 ranks", [*known], [*map(float, known.values())], True)
    drawn = [line(subject) for subject in [*OWN, *PEERS]]
    return plots.Lines(QUESTION, {"Kronecker graphs": [*drawn, reference]}, ("scale", "MTEPS"))


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("bfs", QUESTION, [str(scale) for scale in SCALES])
    program = build()
    before = common.machine()
    settings = {"timed_roots": TIMED, "reference_mteps": REFERENCE}
    report = common.Report(QUESTION, settings)
    scales = [int(scale) for scale in options.only] or (QUICK if options.quick else SCALES)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(program, Path(folder))
        for scale in scales:
            # For the roots, should a peer come first.
            runner.own(scale, "directions", 2)
            runner.checked.clear()

            def measure(subject: str, scale: int = scale) -> None:
                take(report, runner, subject, scale)

            common.interleave(options.rounds, [*OWN, *PEERS], measure)
            (Path(folder) / f"{scale}.edges").unlink(missing_ok=True)
    report.notes += [
        "harmonic means over the same roots for all, as many as `timed_roots` has",
        "in the first round 64 roots, every tree checked: a wrong one would end the run",
        "the reference was not run here: the best of its runs on another machine with two cores",
    ]
    report.claims = claims(report, 20 if 20 in scales else scales[0])
    report.pictures = [picture(report)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
