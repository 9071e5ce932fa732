"""Analyse a model's fields while it runs: on events, or by the hand-written pipeline."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from examples import launched
from examples.insitu import analytics, bespoke, bridged, model, mpiexec, sequential, shallow_water
from examples.insitu.settings import FIELDS, FORMATS, Outcome, Settings

WAYS = ("events", "bridge", "monc", "tuned")


def carry_out(settings: Settings, way: str) -> Outcome:
    """Run the pipeline on events, or by hand, as it is in MONC or tuned."""
    if way == "events":
        return analytics.run(settings)
    if way == "bridge":
        return bridged.run(settings)
    return mpiexec.run(settings, way) if launched.is_here() else bespoke.run(settings, way)


def main() -> None:
    """Run, and compare with a sequential computation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--way",
        choices=WAYS,
        default="events",
        help="events, a model outside of them, or by hand",
    )
    parser.add_argument("--analytics", type=int, default=2, help="analytics ranks, 2")
    parser.add_argument("--models", type=int, default=1, help="computational ranks for each, 1")
    parser.add_argument("--steps", type=int, default=200, help="time steps, 200")
    parser.add_argument("--points", type=int, default=64, help="values of an item, 64")
    parser.add_argument("--interval", type=int, default=50, help="steps in a file, 50")
    parser.add_argument("--folder", type=Path, help="where files go; none without")
    parser.add_argument("--format", choices=FORMATS, default="netcdf", help="of files, netcdf")
    options = vars(parser.parse_args())
    way = options.pop("way")
    settings = Settings(**options)
    if settings.folder is not None:
        settings.folder.mkdir(parents=True, exist_ok=True)
    outcome = carry_out(settings, way)
    if launched.rank() > 0:
        return
    rate = settings.items / outcome.seconds
    latencies = np.percentile(outcome.latencies_s, [50, 99]) * 1e3
    print(f"{settings.items:,} items of {len(FIELDS)} fields: {rate:,.0f} a second")
    print(f"latency: {latencies[0]:.2f} ms in the median, {latencies[1]:.2f} ms for 99 of 100")
    block = shallow_water.block if way == "bridge" else model.block
    agree = sequential.agree(outcome.results, settings, block)
    print(f"as a sequential computation has it: {agree}")


if __name__ == "__main__":
    main()
