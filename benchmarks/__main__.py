"""Run every benchmark, one after the other: `python -m benchmarks [--quick] [NAME ...]`."""

import argparse
import subprocess
import sys

NAMES = (
    "calls",
    "service",
    "journal",
    "blocks",
    "imports",
    "io",
    "datasets",
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
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    failed = 0
    for name in options.names or NAMES:
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        failed += subprocess.run(command + ["--quick"] * options.quick, check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
