"""Run every benchmark, one after the other: `python -m benchmarks [--quick] [--keep] [NAME ...]`.

With --keep, the reports replace those of the same processor in `docs/performance/measured`, from
which the pictures and the table of claims are made at once.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks import common, kept

NAMES = (
    "calls",
    "service",
    "journal",
    "blocks",
    "imports",
    "io",
    "datasets",
    "frames",
    "io_hdfs",
    "split",
    "planning",
    "graphs",
    "arrays",
    "stacks",
    "reduction",
    "tracing",
    "events",
    "bfs",
    "insitu",
    "manager",
    "simulate",
    "scale",
    "task",
    "fusion",
    "graphs_la",
    "kernels",
    "startup",
    "scripts",
    "redistribution",
    "overlap",
)


def main() -> int:
    """Run the benchmarks that were named, or all; the number of those that failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="end within a minute each")
    parser.add_argument("--keep", action="store_true", help="keep the reports in the repository")
    options, others = parser.parse_known_args()
    names = options.names or NAMES
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    if others and len(names) != 1:
        parser.error(f"{' '.join(others)}: options of one benchmark, name that one alone")
    failed = 0
    for name in names:
        words = others + ["--quick"] * options.quick
        if options.keep:
            target = kept.file_on(name, common.machine()["cpu"])
            if options.quick and is_full(target):
                parser.error(f"{target} is of a full run, which a quick one does not replace")
            words += ["--json", str(target)]
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *words], check=False)
        failed += done.returncode != 0
        if options.keep:
            # After each, so that what was measured is there when the next one is interrupted.
            kept.rewrite()
    return failed


def is_full(report: Path) -> bool:
    """Whether there is a report of a full run."""
    return report.is_file() and not json.loads(report.read_text("utf-8"))["quick"]


if __name__ == "__main__":
    sys.exit(main())
