"""The paper's statistics over the runs of a sweep.

For each network and pair of sizes: medians; Shapiro-Wilk, whether times could be normal;
Kruskal-Wallis, whether any methods differ; Conover's test, which ones. Methods that can't be told
from the one with the lowest median are its tie set, and of those the one that is in most tie sets
of the network is preferred (section 4.4.3).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from freestone.errors import ConfigurationError, EngineMissingError
from freestone.malleable.synthetic.sweep import load

__all__ = ["analyse", "compare"]

_ALPHA = 0.05
_CURE = "pip install 'freestone[malleable]'"
Times = dict[str, list[float]]
Cells = dict[tuple[int, int], Times]


def analyse(folder: Path) -> dict[str, Any]:
    """Write statistics, the table of preferred methods and the figures into a sweep's folder.

    Parameters
    ----------
    folder : path
        Where ``freestone malleable sweep`` has put its runs.

    Returns
    -------
    dict
        ``reconfiguration`` and ``application``: by network, a list with the preferred method of
        each pair, its median and the size of its tie set; ``files``, what was written.

    Raises
    ------
    EngineMissingError
        Without SciPy, scikit-posthocs or matplotlib.
    FileMissingError
        If there are no runs.
    """
    try:
        from freestone.malleable.synthetic import figures
    except ImportError as error:
        raise EngineMissingError(engine="analyse", missing=str(error), cure=_CURE) from error
    runs = [run for run in load(folder) if run["is_intact"] and _has_resized(run)]
    if not runs:
        problem = f"{folder} has no run with a resize that was done; sweep with more iterations"
        raise ConfigurationError(problem, key="folder", origin="analyse")
    found: dict[str, Any] = {
        "reconfiguration": {},
        "application": {},
        "tests": {},
    }
    by_kind: dict[str, dict[str, Cells]] = {}
    for kind, value in (("reconfiguration", _resize_s), ("application", _total_s)):
        by_kind[kind] = _by_network(runs, value)
        for network, cells in by_kind[kind].items():
            tests = {pair: compare(times) for pair, times in sorted(cells.items())}
            found[kind][network] = _preferred(tests)
            found["tests"][f"{kind}, {network}"] = [
                {"before": pair[0], "after": pair[1], **test} for pair, test in tests.items()
            ]
    files = [
        _write(folder / "statistics.json", found),
        _write(
            folder / "preferred.json", {"preferred": found["application"], "hosts": _hosts(runs)}
        ),
        *figures.draw(folder, by_kind, found, runs),
    ]
    return {**found, "files": files}


def compare(times: Times) -> dict[str, Any]:
    """Tell the methods of one pair apart.

    Parameters
    ----------
    times : dict of str to list of float
        The seconds of each run, by method.

    Returns
    -------
    dict
        ``medians`` in s, ``normal`` (Shapiro-Wilk's p by method), ``kruskal`` (p), ``ties``: the
        methods that can't be told from the fastest, ``runs``: the fewest of any method.

    Notes
    -----
    With five runs each a difference of 10 % is seldom found among twelve methods: look at the
    size of the tie set before the name of the winner.
    """
    from scipy import stats

    medians = {method: float(np.median(values)) for method, values in times.items()}
    best = min(medians, key=lambda method: medians[method])
    runs = min(map(len, times.values()))
    normal = {
        method: float(stats.shapiro(values).pvalue)
        for method, values in times.items()
        if len(values) >= 3 and len(set(values)) > 1
    }
    found: dict[str, Any] = {"medians": medians, "normal": normal, "runs": runs, "kruskal": 1.0}
    found["ties"] = sorted(times)
    if len(times) < 2 or runs < 2:
        found["ties"] = [best] if len(times) < 2 else sorted(times)
        return found
    found["kruskal"] = float(stats.kruskal(*times.values()).pvalue)
    if found["kruskal"] < _ALPHA:
        found["ties"] = _conover(times, best)
    return found


def _conover(times: Times, best: str) -> list[str]:
    import scikit_posthocs

    methods = list(times)
    table = scikit_posthocs.posthoc_conover([times[method] for method in methods], p_adjust="holm")
    row = table.to_numpy()[methods.index(best)]
    ties = [method for method, p in zip(methods, row, strict=True) if p >= _ALPHA]
    return sorted({best, *ties})


def _preferred(tests: dict[tuple[int, int], dict[str, Any]]) -> list[dict[str, Any]]:
    wins = Counter(method for test in tests.values() for method in test["ties"])
    found = []
    for (before, after), test in tests.items():
        chosen = max(test["ties"], key=lambda m: (wins[m], -test["medians"][m]))
        found.append(
            {
                "before": before,
                "after": after,
                "method": chosen,
                "median_s": test["medians"][chosen],
                "ties": len(test["ties"]),
            }
        )
    return found


def _hosts(runs: list[dict[str, Any]]) -> dict[str, int]:
    """Return over how many hosts each network was measured, where runs say so."""
    found: dict[str, int] = {}
    for run in runs:
        if "hosts" in run:
            found[run["network"]] = max(found.get(run["network"], 1), run["hosts"])
    return found


def _by_network(
    runs: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]
) -> dict[str, Cells]:
    found: dict[str, Cells] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for run in runs:
        found[run["network"]][run["before"], run["after"]][run["method"]].append(value(run))
    return found


def _has_resized(run: dict[str, Any]) -> bool:
    return bool(run["resizes"]) and not run["resizes"][0]["error"]


def _resize_s(run: dict[str, Any]) -> float:
    return float(run["resizes"][0]["total_s"])


def _total_s(run: dict[str, Any]) -> float:
    return float(run["total_s"])


def _write(path: Path, data: Any) -> str:
    path.write_text(json.dumps(data, indent=1), "utf-8")
    return path.name
