"""Emulate applications that are resized, and analyse what that costs."""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

from freestone.cli.output import Output, add_form, table
from freestone.errors import ConfigurationError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run = actions.add_parser("run", help="run the synthetic application once")
    _add_common(run)
    run.add_argument("-o", "--out", metavar="FILE", help="where all that was measured goes, JSON")
    sweep = actions.add_parser("sweep", help="run all pairs of sizes by all methods")
    _add_common(sweep)
    sweep.add_argument("-o", "--out", metavar="FOLDER", required=True, help="where runs are kept")
    sweep.add_argument("--sizes", default="1,2,4,8", help="numbers of processes, 1,2,4,8")
    sweep.add_argument("--methods", help="such as merge-p2p-sync,...; by default all")
    sweep.add_argument("--times", type=int, default=5, help="how often each, 5")
    sweep.add_argument("--network", default="host", help="what to call this network: host")
    analyse = actions.add_parser("analyse", help="statistics and figures of sweeps")
    analyse.add_argument("folder", metavar="FOLDER", help="written by sweep")
    for action in (run, sweep, analyse):
        add_form(action, is_nested=True)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="TOML, or INI or JSON of Proteo")
    parser.add_argument("--mpiexec", help="the launcher and its words, such as 'mpiexec -ppn 2'")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Run, sweep, or analyse."""
    return {"run": _run, "sweep": _sweep, "analyse": _analyse}[arguments.action](arguments, output)


def _run(arguments: argparse.Namespace, output: Output) -> int:
    from freestone.malleable.synthetic import launching, read
    from freestone.malleable.synthetic.emulation import summary

    mpiexec = launching.find_mpiexec(arguments.mpiexec)
    results = [launching.launch(settings, mpiexec) for settings in read(Path(arguments.config))]
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(results), "utf-8")
    found = [summary(result) for result in results]
    output.show(found, lambda: "\n\n".join(map(_described, found)))
    return 0 if all(result["is_intact"] for result in found) else 1


def _described(run: dict[str, Any]) -> str:
    groups = [
        [group["processes"], group["iterations"], f"{1e3 * group['iteration_s']:.3f}"]
        for group in run["groups"]
    ]
    resizes = [
        [
            f"{one['before']} to {one['after']}",
            one["method"],
            f"{one['spawn_s']:.3f}",
            f"{one['data_s']:.3f}",
            f"{one['total_s']:.3f}",
            f"{one['moved_nbytes']:,}",
            one["steps"],
            one["error"] or "done",
        ]
        for one in run["resizes"]
    ]
    late = f"iterations were over before {run['undone']} more resizes were: give more iterations"
    head = ["resize", "method", "spawn s", "data s", "in all s", "bytes", "iterations", "outcome"]
    return "\n".join(
        [
            f"{run['total_s']:.3f} s; all data as it was: {run['is_intact']}",
            table(["processes", "iterations", "ms each"], groups),
            *([table(head, resizes)] if resizes else []),
            *([late] if run["undone"] else []),
        ]
    )


def _sweep(arguments: argparse.Namespace, output: Output) -> int:
    from freestone.malleable.method import METHODS, Method
    from freestone.malleable.synthetic import launching, read
    from freestone.malleable.synthetic.sweep import sweep

    sizes = _numbers(arguments.sizes)
    words = (arguments.methods or "").split(",")
    methods = [Method.parse(word) for word in words] if arguments.methods else list(METHODS)
    settings = read(Path(arguments.config))[0]
    mpiexec = launching.find_mpiexec(arguments.mpiexec)
    pairs = list(itertools.permutations(sizes, 2))
    folder = Path(arguments.out)

    def tell(done: int, total: int) -> None:
        if done % 10 == 0 or done == total:
            output.show({"done": done, "of": total}, lambda: f"{done} of {total} runs")

    count = sweep(
        settings, pairs, methods, arguments.times, arguments.network, folder, mpiexec, tell
    )
    output.show({"runs": count}, lambda: f"{count} runs in {folder}")
    return 0


def _numbers(text: str) -> list[int]:
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        sizes = []
    if len(set(sizes)) < 2 or min(sizes, default=0) < 1:
        problem = f"--sizes {text!r} must be two or more different numbers, such as 2,4,8"
        raise ConfigurationError(problem, key="sizes", origin="the command line")
    return sizes


def _analyse(arguments: argparse.Namespace, output: Output) -> int:
    from freestone.malleable.synthetic.analysis import analyse

    found = analyse(Path(arguments.folder))
    output.show(found, lambda: _analysed(found))
    return 0


def _analysed(found: dict[str, Any]) -> str:
    parts = []
    for network, cells in found["reconfiguration"].items():
        rows = [
            [cell["before"], cell["after"], cell["method"], cell["ties"], f"{cell['median_s']:.3f}"]
            for cell in cells
        ]
        head = ["from", "to", f"preferred ({network})", "tie set", "median s"]
        parts.append(table(head, rows))
    parts.append("written: " + ", ".join(found["files"]))
    return "\n\n".join(parts)
