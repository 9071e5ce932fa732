"""Running a suite and comparing what failed with what is accepted."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.outside.report import ONLY, PART, REPORT
from tests.outside.suites import ROOT, Suite

__all__ = ["Outcome", "Verdict", "judge", "run", "todays_part"]

TIMEOUT_S = 600
"""No test of these suites takes a minute on an idle machine; one that takes so long hangs."""

_RAN = (0, 1, 5)
"""pytest's exit statuses of runs that came to their end."""


@dataclass(frozen=True)
class Outcome:
    """How a test ended: "passed", "failed" or "skipped", and why it failed."""

    name: str
    outcome: str
    why: str = ""


@dataclass
class Verdict:
    """What a run of a suite means.

    Attributes
    ----------
    passed, skipped : int
        How many tests.
    accepted : dict of str to str
        Failures that are on the list, and the reasons.
    elsewhere : list of str
        Failures without freestone, too.
    unexpected : dict of str to str
        All other failures, and why they failed.
    obsolete : list of str
        Entries of the list whose tests all passed, in a run of all parts.
    """

    passed: int = 0
    skipped: int = 0
    accepted: dict[str, str] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    unexpected: dict[str, str] = field(default_factory=dict)
    obsolete: list[str] = field(default_factory=list)


def todays_part(parts: int, today: datetime.date | None = None) -> int:
    """Give the part, from 0, that runs on a day: each once in `parts` days."""
    today = today or datetime.datetime.now(datetime.UTC).date()
    return today.toordinal() % parts


def run(suite: Suite, part: int, parts: int) -> Verdict:
    """Run a part of a suite, and again without freestone what failed unexpectedly.

    Raises
    ------
    RuntimeError
        When pytest did not come to its end.
    """
    tests = ["--pyargs", *suite.tests, *(suite.tests_of_full if parts == 1 else ())]
    outcomes = _pytest(suite, tests, {PART: f"{part}/{parts}"})
    verdict = judge(outcomes, expected_failures(suite))
    if parts > 1:
        # The parameters with which a test fails may be in another part.
        verdict.obsolete.clear()
    if verdict.unexpected and suite.without:
        files = {f"{_site(suite)}/{name.partition('::')[0]}" for name in verdict.unexpected}
        again = _pytest(suite, sorted(files), suite.without, only=verdict.unexpected)
        for one in again:
            if one.outcome == "failed" and verdict.unexpected.pop(one.name, None) is not None:
                verdict.elsewhere.append(one.name)
    return verdict


def judge(outcomes: Sequence[Outcome], expected: Mapping[str, str]) -> Verdict:
    """Compare outcomes with the failures that are accepted."""
    verdict = Verdict()
    passed, failed = set[str](), set[str]()
    for one in outcomes:
        entry = entry_of(one.name, expected)
        if one.outcome == "failed" and entry is not None:
            verdict.accepted[one.name] = expected[entry]
            failed.add(entry)
        elif one.outcome == "failed":
            verdict.unexpected[one.name] = one.why
        elif one.outcome == "passed":
            verdict.passed += 1
            passed |= {entry} if entry is not None else set()
        else:
            verdict.skipped += 1
    verdict.obsolete = sorted(passed - failed)
    return verdict


def entry_of(name: str, entries: Iterable[str]) -> str | None:
    """Give the entry of a list that covers a test: its name, or that without its parameters."""
    return next((one for one in (name, name.partition("[")[0]) if one in entries), None)


def expected_failures(suite: Suite) -> dict[str, str]:
    """Read the failures of a suite that are accepted, and their reasons."""
    with (Path(__file__).parent / "expected" / suite.expected).open("rb") as file:
        groups = tomllib.load(file).get("expected", [])
    return {
        test: group["reason"]
        for group in groups
        if suite.name in group.get("suites", [suite.name])
        for test in group["tests"]
    }


def _pytest(
    suite: Suite,
    tests: Sequence[str],
    variables: Mapping[str, str],
    only: Iterable[str] | None = None,
) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="freestone-outside-") as folder:
        report, names = Path(folder) / "report.jsonl", Path(folder) / "only.json"
        report.touch()
        environment = os.environ | {REPORT: str(report)} | variables
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "python")])
        if only is not None:
            names.write_text(json.dumps([*only]))
            environment[ONLY] = str(names)
        command = [str(suite.python), "-m", "pytest", *_OPTIONS, f"--rootdir={_site(suite)}"]
        command += ["-p", suite.plugin, *suite.arguments, *tests]
        status = subprocess.run(command, env=environment, cwd=folder, check=False).returncode
        outcomes = [Outcome(**json.loads(line)) for line in report.read_text().splitlines()]
    if status not in _RAN:
        raise RuntimeError(
            f"pytest ended with status {status} after {len(outcomes):,} tests of {suite.name!r}; "
            f"the last was {outcomes[-1].name if outcomes else 'none'}"
        )
    return outcomes


_OPTIONS = (
    *("-q", "--tb=no", "--no-header", "--no-summary", "-W", "ignore", f"--timeout={TIMEOUT_S}"),
    # Neither our own settings of pytest nor a cache in the packages' folder.
    *("-c", os.devnull, "-p", "no:cacheprovider", "-p", "tests.outside.report"),
    "--continue-on-collection-errors",
)


def _site(suite: Suite) -> str:
    """Give the folder of the installed packages: names of tests begin there."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run(
        [str(suite.python), "-c", code], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()
