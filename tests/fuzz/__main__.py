"""Run fuzzers with new seeds: ``python -m tests.fuzz [NAME ...] --seconds 60 --seed 7``.

They run in turn, and share the time; with ``--cases`` each tries so many, however long it takes.
Findings are shown at the end, with the command that shows each again; kept in
``tests/fuzz/cases.toml``, their seeds are the next to mend. The status is 1 if there are findings,
and 2 if a fuzzer could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.fuzzers import FUZZERS, Fuzzer
from tests.fuzz.running import Finding, Outcome, run

MAX_CASES = 10**9


def main(words: list[str] | None = None) -> int:
    """Run, and show what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FUZZERS)}")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9, help="the first one")
    parser.add_argument("--seconds", type=float, default=60.0, help="of all together")
    parser.add_argument("--cases", type=int, help="so many of each, in place of a time")
    parser.add_argument("--json", type=Path, help="write the findings into this file, too")
    parser.add_argument("--show", type=Path, help="run nothing; show what such a file says")
    parser.add_argument("--list", action="store_true", help="run nothing; say what there is")
    given = parser.parse_args(words)
    unknown = [name for name in given.names if name not in FUZZERS]
    if unknown:
        parser.error(f"no fuzzer {unknown[0]!r}; there are {', '.join(FUZZERS)}")
    if given.list:
        print("\n".join(f"{fuzzer.name:20} {fuzzer.compares}" for fuzzer in FUZZERS.values()))
        return 0
    if given.show:
        return show([Finding(**each) for each in json.loads(given.show.read_text())])
    fuzzers = [FUZZERS[name] for name in given.names or FUZZERS]
    outcomes = list(_run_all(fuzzers, given.seed, given.cases, given.seconds))
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    if given.json:
        write(findings, given.json)
    status = show(findings)
    for outcome in outcomes:
        if outcome.failure:
            print(f"{outcome.fuzzer} could not run: {outcome.failure}")
            status = 2
    return status


def _run_all(
    fuzzers: list[Fuzzer], seed: int, cases: int | None, seconds: float
) -> Iterator[Outcome]:
    whole = sum(fuzzer.share for fuzzer in fuzzers)
    for fuzzer in fuzzers:
        share = float("inf") if cases else seconds * fuzzer.share / whole
        begun = time.monotonic()
        outcome = run(fuzzer, seed, cases or MAX_CASES, share)
        print(
            f"{fuzzer.name:20} seed {seed}: {outcome.cases} cases in "
            f"{time.monotonic() - begun:.1f} s, {len(outcome.findings)} findings",
            flush=True,
        )
        yield outcome


def write(findings: list[Finding], path: Path) -> None:
    """Write findings as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([each.as_dict() for each in findings], indent=1))


def show(findings: list[Finding]) -> int:
    """Print findings; 1 if there are any."""
    for finding in findings:
        print(f"\nFINDING of {finding.fuzzer}: {finding.text}")
        print(f"  {finding.command}")
        print("\n".join(f"  | {line}" for line in finding.detail.splitlines()))
    print(f"{len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
