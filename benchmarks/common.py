"""What all benchmarks share: options, samples, claims, and the report they write."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import plots

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ROUNDS = 5
PACKAGES = ("freestone", "numpy", "distributed", "ray", "parsl")


@dataclass(frozen=True)
class Options:
    """How a benchmark was asked to run."""

    name: str
    quick: bool
    json: Path
    only: tuple[str, ...] = ()
    rounds: int = ROUNDS
    more: bool = False


@dataclass(frozen=True)
class Claim:
    """A figure that was wanted: `holds` is None when it could not be measured."""

    name: str
    value: float | None
    unit: str
    wanted: str
    holds: bool | None


def at_least(name: str, value: float | None, wanted: float, unit: str) -> Claim:
    """Claim that `value` reaches `wanted`."""
    holds = None if value is None else value >= wanted
    return Claim(name, value, unit, f">= {wanted:g}", holds)


def at_most(name: str, value: float | None, wanted: float, unit: str) -> Claim:
    """Claim that `value` does not exceed `wanted`."""
    holds = None if value is None else value <= wanted
    return Claim(name, value, unit, f"<= {wanted:g}", holds)


def ratio(value: float | None, other: float | None) -> float | None:
    """Return `value / other`, or None when either was not measured."""
    return None if value is None or not other else value / other


@dataclass
class Report:
    """What a benchmark found out.

    `figures[subject][case]` has the `unit`, every sample and what else describes the case;
    `absent[subject]` tells why a subject that was to be measured is not there.
    """

    question: str
    settings: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    pictures: list[plots.Picture] = field(default_factory=list)

    def add(self, subject: str, case: str, sample: float, unit: str, **details: Any) -> None:
        """Add one sample of a case, and details that describe the case or this sample."""
        figure = self.figures.setdefault(subject, {}).setdefault(case, {"unit": unit})
        figure.setdefault("samples", []).append(sample)
        figure["median"] = statistics.median(figure["samples"])
        for key, value in details.items():
            figure.setdefault(key, []).append(value)

    def go_on(self, options: Options) -> None:
        """With `--more`, begin with the samples of the report that is there.

        So a benchmark of many minutes can be taken round by round.
        """
        if not options.more or not options.json.is_file():
            return
        found = json.loads(options.json.read_text())
        if found["settings"] != json.loads(json.dumps(self.settings)):
            raise SystemExit(f"{options.json} has other settings: {found['settings']}")
        self.figures = found["figures"]

    def median(self, subject: str, case: str) -> float | None:
        """Return the median of a case, None if it was not measured."""
        figure = self.figures.get(subject, {}).get(case)
        return None if figure is None else float(figure["median"])

    def series(self, case: str) -> dict[str, float]:
        """Return the medians of a case by subject, of those that have it."""
        return {
            subject: float(cases[case]["median"])
            for subject, cases in self.figures.items()
            if case in cases
        }


def parse(name: str, question: str, subjects: Sequence[str] = ()) -> Options:
    """Read a benchmark's command line: `--quick`, `--json FILE` and, with peers, `--only`."""
    return options(name, parser(name, question, subjects).parse_args())


def parser(name: str, question: str, subjects: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return what reads the options that all benchmarks have."""
    found = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=question)
    found.add_argument("--quick", action="store_true", help="one round, within a minute")
    found.add_argument(
        "--json", type=Path, metavar="FILE", help="the report; the pictures beside it"
    )
    found.add_argument("--rounds", type=int, metavar="N", help=f"instead of {ROUNDS}")
    found.add_argument("--more", action="store_true", help="add to the report that is there")
    if subjects:
        words = ", ".join(subjects)
        found.add_argument(
            "--only",
            nargs="+",
            default=[],
            choices=subjects,
            metavar="SUBJECT",
            help=f"of {words}",
        )
    return found


def options(name: str, given: argparse.Namespace) -> Options:
    """Return what was asked for of what all benchmarks have."""
    folder = RESULTS / "quick" if given.quick else RESULTS
    path = given.json or folder / f"{name}.json"
    rounds = given.rounds or (1 if given.quick else ROUNDS)
    only = tuple(getattr(given, "only", ()))
    return Options(name, given.quick, path, only, rounds, given.more)


def interleave(rounds: int, subjects: Iterable[str], measure: Callable[[str], None]) -> None:
    """Measure every subject in every round, each round beginning with another one.

    What disturbs the machine for a while then disturbs all of them alike.
    """
    order = list(subjects)
    for index in range(rounds):
        shift = index % max(len(order), 1)
        for subject in order[shift:] + order[:shift]:
            print(f"round {index + 1}/{rounds}: {subject}", file=sys.stderr, flush=True)
            measure(subject)


def machine() -> dict[str, Any]:
    """Describe the machine, without its name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "?")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
    }


def commit() -> str | None:
    """Return the commit that is measured, with a `+` when files but those of the docs differ."""

    def git(*words: str) -> str | None:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return head and head + ("+" if changed else "")


def versions() -> dict[str, str | None]:
    """Return the versions of Python, freestone and its peers; None for those not installed."""

    def version(package: str) -> str | None:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    found: Mapping[str, str | None] = {package: version(package) for package in PACKAGES}
    return {"python": platform.python_version(), **found}


def save(report: Report, options: Options, before: Mapping[str, Any]) -> None:
    """Write the report to its file; `before` is from `machine()`."""
    drawable = [picture for picture in report.pictures if not picture.is_empty]
    content = {
        "benchmark": options.name,
        "command": command(options.name),
        "quick": options.quick,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": dict(before),
        "versions": versions(),
        **asdict(report),
        "pictures": [plots.written(picture) for picture in drawable],
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(text_of(content) + "\n", encoding="utf-8")


def command(name: str) -> str:
    """Return the command that runs, as it is typed at the root of the repository."""
    words = iter(sys.argv[1:])
    kept: list[str] = []
    for word in words:
        if word == "--json":
            next(words, None)
        elif not word.startswith("--json="):
            kept.append(word)
    return shlex.join(["python", "-m", f"benchmarks.{name}", *kept])


def text_of(value: Any, depth: int = 0) -> str:
    """Return JSON with a line for each case of a subject, not for each sample."""
    if not isinstance(value, dict | list) or depth > 2 or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = [
        text_of(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value)
    ]
    if isinstance(value, dict):
        inner = [
            f"{json.dumps(str(key), ensure_ascii=False)}: {text}"
            for key, text in zip(value, inner, strict=True)
        ]
    first, last = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{' ' * (depth + 1)}".join(inner)
    return f"{first}\n{' ' * (depth + 1)}{lines}\n{' ' * depth}{last}"


def pictures(content: Mapping[str, Any], path: Path) -> dict[Path, plots.Picture]:
    """Return the pictures of a report's JSON, by the files beside its own where they are drawn."""
    return {
        path.with_name(f"{path.stem}{picture.name}.svg"): picture
        for picture in map(plots.read, content["pictures"])
    }


def draw(content: Mapping[str, Any], path: Path) -> list[Path]:
    """Draw what a report's JSON says, and return the files of the pictures."""
    found = pictures(content, path)
    for file, picture in found.items():
        file.write_text(plots.draw(picture), encoding="utf-8")
    return list(found)


def write(report: Report, options: Options, before: Mapping[str, Any]) -> None:
    """Write the report to its file, draw it, and print its claims; `before` is from `machine()`."""
    save(report, options, before)
    show(report)
    print(f"written: {options.json}")
    for path in draw(json.loads(options.json.read_text("utf-8")), options.json):
        print(f"drawn: {path}")


def show(report: Report) -> None:
    """Print figures, absences, notes and claims."""
    print(report.question)
    for subject, cases in report.figures.items():
        for case, figure in cases.items():
            print(f"  {subject:22} {case:28} {figure['median']:14,.2f} {figure['unit']}")
    for subject, reason in report.absent.items():
        print(f"  {subject:22} absent: {reason}")
    for note in report.notes:
        print(f"  note: {note}")
    for claim in report.claims:
        value = "not measured" if claim.value is None else f"{claim.value:,.2f} {claim.unit}"
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "open"}[claim.holds]
        print(f"  {verdict:13} {claim.name}: {value} (wanted {claim.wanted} {claim.unit})")
