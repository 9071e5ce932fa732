"""Run test suites of others on freestone: ``python -m tests.outside [--full] [SUITE ...]``."""

from __future__ import annotations

import argparse
import sys

from tests.outside.running import Verdict, run, todays_part
from tests.outside.suites import SUITES


def main() -> int:
    """Run suites; 1 if anything failed that is on no list."""
    parser = argparse.ArgumentParser(prog="python -m tests.outside", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--full", action="store_true", help="all tests, not only today's part")
    parser.add_argument("--part", type=int, help="this part in place of today's")
    given = parser.parse_args()
    unknown = [name for name in given.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    passed = failed = 0
    for name in given.suites or SUITES:
        suite = SUITES[name]
        parts = 1 if given.full else suite.parts
        part = todays_part(parts) if given.part is None else given.part % parts
        print(f"== {name}: part {part} of 0 to {parts - 1}", flush=True)
        verdict = run(suite, part, parts)
        show(verdict)
        passed += verdict.passed
        failed += len(verdict.unexpected)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def show(verdict: Verdict) -> None:
    """Print what a run of a suite means."""
    for test, why in verdict.unexpected.items():
        print(f"FAILED {test}: {why.splitlines()[0] if why else ''}")
    for test in verdict.obsolete:
        print(f"passes now, so remove it from the list: {test}")
    print(
        f"{verdict.passed} passed, {len(verdict.unexpected)} failed, "
        f"{len(verdict.accepted)} failed as the list says, "
        f"{len(verdict.elsewhere)} failed without freestone as well, {verdict.skipped} skipped",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
