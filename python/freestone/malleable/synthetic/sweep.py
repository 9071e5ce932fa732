"""All pairs of sizes by all methods, as often as asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from freestone.malleable.method import Method
from freestone.malleable.synthetic.emulation import summary
from freestone.malleable.synthetic.launching import launch
from freestone.malleable.synthetic.settings import Settings

__all__ = ["load", "sweep"]

_FILE = "runs.jsonl"


def sweep(
    settings: Settings,
    pairs: list[tuple[int, int]],
    methods: list[Method],
    times: int,
    network: str,
    folder: Path,
    mpiexec: list[str],
    tell: Callable[[int, int], None],
) -> int:
    """Run what the folder does not have yet, and return how many runs it has then.

    Repetitions go through all methods before the next begins, so that a slow minute of the
    machine does not count against one method.
    """
    folder.mkdir(parents=True, exist_ok=True)
    seen = {_key(run) for run in load(folder, must=False)}
    wanted = [key for key in _keys(pairs, methods, times, network) if key not in seen]
    with open(folder / _FILE, "a", encoding="utf-8") as file:
        for done, (_, before, after, method, repeat) in enumerate(wanted, 1):
            result = launch(settings.between(before, after, Method.parse(method)), mpiexec)
            run = {
                "network": network,
                "before": before,
                "after": after,
                "method": method,
                "repeat": repeat,
                **summary(result),
            }
            file.write(json.dumps(run) + "\n")
            file.flush()
            tell(done, len(wanted))
    return len(seen) + len(wanted)


def load(folder: Path, must: bool = True) -> list[dict[str, Any]]:
    """Return all runs of a folder.

    Raises
    ------
    FileMissingError
        If it has none, and must.
    """
    from freestone.errors import FileMissingError

    path = folder / _FILE
    if not path.is_file():
        if must:
            raise FileMissingError(str(path))
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _keys(
    pairs: list[tuple[int, int]], methods: list[Method], times: int, network: str
) -> Iterator[tuple[str, int, int, str, int]]:
    for repeat in range(times):
        for before, after in pairs:
            for method in methods:
                yield network, before, after, str(method), repeat


def _key(run: dict[str, Any]) -> tuple[str, int, int, str, int]:
    return run["network"], run["before"], run["after"], run["method"], run["repeat"]
