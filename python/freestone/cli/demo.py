"""Find the Z boson in real collisions, then in many more events."""

from __future__ import annotations

import argparse

from freestone.cli.output import Output

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--files", type=int, default=200, help="how many files to make")
    parser.add_argument("--events", type=int, default=50_000, help="events in each of them")
    parser.add_argument("--workers", type=int, help="workers of the cluster")
    parser.add_argument("--out", default="demo", help="folder for the plot and the trace")
    parser.add_argument("--seed", type=int, default=1, help="of the events that are made")
    parser.add_argument("--quick", action="store_true", help="8 files of 5,000 events")
    parser.add_argument("--keep-files", action="store_true", help="leave the files there")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Run the demo, which says itself what it finds.

    Returns
    -------
    int
        0, or 1 if the mass is not that of the Z.
    """
    from freestone.demo import main

    result = main(
        files=arguments.files,
        events=arguments.events,
        workers=arguments.workers,
        out=arguments.out,
        seed=arguments.seed,
        quick=arguments.quick,
        output=output.form,
        keep_files=arguments.keep_files,
    )
    return 0 if result.mass_is_right else 1
