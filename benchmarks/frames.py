"""Measure the queries of TPC-H on frames, beside polars and dask.dataframe.

All systems have two cores and the tables in memory. Dask's queries are eight of the 22, written for
its interface; polars' are those of frames, whose methods are the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import common, plots, turns
from benchmarks.tpch.by_dask import QUERIES as BY_DASK
from benchmarks.tpch.data import generate
from benchmarks.tpch.queries import QUERIES

QUESTION = "How long do the queries of TPC-H take on frames?"
SYSTEMS = ("freestone", "polars", "dask.dataframe")
SCALE = {True: 0.1, False: 1.0}


def record(report: common.Report, system: str, folder: Path, scale: float) -> None:
    """Take a system's turn, and add the seconds of each query and of all."""
    queries = list(BY_DASK if system == "dask.dataframe" else QUERIES)
    found = turns.take(
        "benchmarks.tpch.systems:measure",
        system=system,
        folder=str(folder),
        scale=scale,
        queries=queries,
    )
    if "absent" in found:
        report.absent[system] = found["absent"]
        return
    for name, seconds in found["seconds"].items():
        report.add(system, name, seconds, "s")
    if len(queries) == len(QUERIES):
        report.add(system, "all 22", sum(found["seconds"].values()), "s")
    report.add(system, "Dask's 8", sum(found["seconds"][name] for name in BY_DASK), "s")


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""
    ours = {case: report.median("freestone", case) for case in ("all 22", "Dask's 8")}
    polars = common.ratio(ours["all 22"], report.median("polars", "all 22"))
    dask = common.ratio(report.median("dask.dataframe", "Dask's 8"), ours["Dask's 8"])
    return [
        common.at_most("all 22 queries, freestone / polars", polars, 1.5, "times"),
        common.at_least("8 queries, dask.dataframe / freestone", dask, 3.0, "times"),
    ]


def main() -> None:
    """Run the benchmark."""
    options = common.parse("frames", QUESTION, SYSTEMS)
    before = common.machine()
    scale = SCALE[options.quick]
    report = common.Report(QUESTION, settings={"scale": scale, "cores": 2})
    report.go_on(options)
    with tempfile.TemporaryDirectory(prefix="freestone-tpch-") as name:
        folder = Path(name)
        generate(folder, scale)
        common.interleave(
            options.rounds,
            options.only or SYSTEMS,
            lambda system: record(report, system, folder, scale),
        )
    report.claims = claims(report)
    panels = [
        plots.Panel(f"{case} queries", "seconds, lower is better", report.series(case))
        for case in ("all 22", "Dask's 8")
    ]
    report.pictures = [plots.Dots(QUESTION, panels, SYSTEMS)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
