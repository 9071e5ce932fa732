"""What waits for what, as the page draws it: of a manager's tasks, and of a recorded run's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MAX_TASKS", "answer", "of_records"]

MAX_TASKS = 3000
"""So many are drawn one by one, of more only their functions."""
_STAGES = ("waiting", "ready", "assigned", "done", "failed")


def answer(overview: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a manager's overview says of it, functions of one name as one.

    Parameters
    ----------
    overview
        With its graph.

    Returns
    -------
    dict
        ``functions`` with their tasks by stage; ``between`` has how many inputs of the second
        function's tasks the first makes; ``nodes`` and ``edges`` are columns. Functions are given
        by position.
    """
    labels: dict[str, int] = {}
    index = [labels.setdefault(one["label"], len(labels)) for one in overview["functions"]]
    functions = [dict.fromkeys(_STAGES, 0) | {"label": label} for label in labels]
    for number, one in zip(index, overview["functions"], strict=True):
        for stage in _STAGES:
            functions[number][stage] += one[stage]
    graph = overview["graph"]
    between: Counter[tuple[int, int]] = Counter()
    for maker, user, inputs in graph["between"]:
        between[index[maker], index[user]] += inputs
    makers = [None if number is None else index[number] for number in graph["functions"]]
    return {
        "unfinished": graph["unfinished"],
        "functions": functions,
        "between": [(*pair, inputs) for pair, inputs in between.items()],
        "nodes": {
            "name": graph["names"],
            "function": makers,
            "stage": graph["stages"],
            "worker": graph["workers"],
        },
        "edges": {"from": graph["from"], "to": graph["to"]},
    }


def of_records(tasks: Sequence[Mapping[str, Any]], limit: int) -> dict[str, Any]:
    """Return what needed what in a recorded run.

    Parameters
    ----------
    tasks
        The last attempt at each task.
    limit
        If there are more tasks, only functions.

    Returns
    -------
    dict
        As `answer`.
    """
    labels: dict[str, int] = {}
    functions: list[dict[str, Any]] = []
    makers: dict[str, int] = {}
    for number, task in enumerate(tasks):
        label = str(task["label"])
        if label not in labels:
            labels[label] = len(labels)
            functions.append(dict.fromkeys(_STAGES, 0) | {"label": label})
        functions[labels[label]]["done" if task["ended"] == "done" else "failed"] += 1
        makers |= dict.fromkeys((task["name"], *_names(task, "outputs")), number)
    pairs = [
        (makers[name], number)
        for number, task in enumerate(tasks)
        for name in _names(task, "inputs")
        if name in makers
    ]
    function = [labels[str(task["label"])] for task in tasks]
    between = Counter((function[maker], function[user]) for maker, user in pairs)
    drawn, edges = (tasks, sorted(set(pairs))) if len(tasks) <= limit else ([], [])
    return {
        "unfinished": len(tasks),
        "functions": functions,
        "between": [(*pair, inputs) for pair, inputs in between.items()],
        "nodes": {
            "name": [task["name"] for task in drawn],
            "function": function[: len(drawn)],
            "stage": [task["ended"] for task in drawn],
            "worker": [task["worker"] for task in drawn],
        },
        "edges": {"from": [maker for maker, _ in edges], "to": [user for _, user in edges]},
    }


def _names(task: Mapping[str, Any], field: str) -> list[str]:
    return str(task.get(field) or "").split()
