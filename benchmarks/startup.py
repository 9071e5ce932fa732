"""Measure how soon a program or a script begins, and how long the longest example takes to compile.

A program that imports freestone, one that also opens a cluster and has a call's result, and
`freestone run hello.daph`, each in a process of its own, beside `python -c` of an empty program and
of one that imports numpy; and in this process, reading, checking and improving each example.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots
from freestone.lang.front.parse.source import Source
from freestone.lang.script import Arguments, compile_source
from freestone.lang.settings import Settings

QUESTION = "How soon does a program begin?"
NOTHING = "python, nothing"
IMPORT = "python, import freestone"
CLUSTER = "python, a cluster and a call"
CALL = """
import freestone as fs
with fs.Cluster(executors=2) as cluster:
    assert cluster.submit(pow, 2, 10).result() == 1024
"""
HELLO = 'print("hello " + $x);'
REPEATS = 5
ARGUMENTS = {"n": 100, "m": 10, "k": 3, "depth": 3, "trees": 5, "steps": 100, "tolerance": 1}


def commands(folder: Path) -> dict[str, list[str]]:
    """Return what is started."""
    script = folder / "hello.daph"
    script.write_text(HELLO)
    program = Path(sys.executable).with_name("freestone")
    return {
        "freestone run hello.daph": [str(program), "run", str(script), "x=1"],
        NOTHING: [sys.executable, "-c", "pass"],
        IMPORT: [sys.executable, "-c", "import freestone"],
        CLUSTER: [sys.executable, "-c", CALL],
        "python, import numpy": [sys.executable, "-c", "import numpy"],
    }


def compiled_once(folder: Path) -> dict[str, str]:
    """Return an environment in which modules stay compiled, as pip leaves those it installs.

    This checkout's may not be, and where nothing may be written no start would leave them so.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def started_ms(command: list[str], environment: dict[str, str]) -> float:
    """Return the shortest of some runs: what the program needs, not what disturbs it."""
    times = []
    # The first one compiles.
    for _ in range(1 + REPEATS):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        times.append(time.perf_counter() - begin)
    return min(times[1:]) * 1e3


def scripts() -> list[Path]:
    """Return the scripts that are compiled."""
    return sorted((common.ROOT / "examples" / "daphne").glob("*.daph"))


def compiled_ms(path: Path) -> float:
    """Return how long it takes to compile a script."""
    code = path.read_text()
    arguments: Arguments = {
        name: (value, "si64")
        for name, value in ARGUMENTS.items()
        if re.search(rf"\${name}\b", code)
    }
    begin = time.perf_counter()
    compile_source(Source(code, path.name), arguments, Settings(vec=True), path)
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("startup", QUESTION)
    before = common.machine()
    report = common.Report(QUESTION)
    examples = scripts()
    with TemporaryDirectory() as folder:
        started, environment = commands(Path(folder)), compiled_once(Path(folder))
        common.interleave(
            options.rounds,
            started,
            lambda name: report.add(name, "start", started_ms(started[name], environment), "ms"),
        )
    for _ in range(options.rounds):
        for path in examples:
            report.add(path.stem, "compile", compiled_ms(path), "ms")
    slowest = max(report.series("compile").values(), default=None)
    hello = report.median("freestone run hello.daph", "start")
    nothing = report.median(NOTHING, "start")

    def more(subject: str) -> float | None:
        """Return what a program takes besides Python's own start."""
        took = report.median(subject, "start")
        return None if took is None or nothing is None else took - nothing

    report.claims = [
        common.at_most("import freestone, over Python's start", more(IMPORT), 30, "ms"),
        common.at_most("a cluster and a call, over Python's start", more(CLUSTER), 250, "ms"),
        common.at_most("freestone run hello.daph", hello, 150, "ms"),
        common.at_most("compiling the slowest example", slowest, 100, "ms"),
    ]
    panels = [plots.Panel(case, "ms", report.series(case)) for case in ("start", "compile")]
    subjects = [*started, *(path.stem for path in examples)]
    report.pictures = [plots.Dots(QUESTION, panels, subjects)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
