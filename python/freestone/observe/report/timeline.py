"""The timeline of a report: the live page's scripts, over columns that the page holds."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.observe.report.document import note, section
from freestone.observe.timeline import Timeline

__all__ = ["timeline_section"]

# Some 8 MB of a page. Of more attempts the longest are shown.
MAX_ATTEMPTS = 500_000
# A person reads no more.
_SHOWN_INPUTS = 8
_LIVE = ("dom.js", "zoomed.js", "timeline.js")
_DIALOG = (
    '<dialog id="dialog" aria-labelledby="dialog-title"><h2 id="dialog-title"></h2>'
    '<div id="dialog-body"></div><div class="buttons" id="dialog-buttons"></div></dialog>'
)

Array = npt.NDArray[Any]


def timeline_section(tasks: Sequence[Mapping[str, Any]], origin_ns: int, seconds: float) -> str:
    """Return a timeline that zooms to one task, as a part of a page.

    Parameters
    ----------
    tasks
        The records of attempts, by their start.
    origin_ns
        From when times are counted, on the clock of the records.
    seconds
        How long the run took.

    Notes
    -----
    It adds about 16 bytes an attempt to the page. Browsers since 2023 can show it.
    """
    if not tasks:
        return section("timeline", "Timeline", note("No task ran."))
    shown = _longest(tasks)
    timeline = Timeline.of_records(origin_ns, shown)
    packed = {name: _packed(column) for name, column in _columns(timeline, shown).items()}
    data = {
        "to_s": max(1e-6, seconds),
        "labels": timeline.labels,
        "endings": timeline.endings,
        "lanes": timeline.lanes,
        "columns": packed,
    }
    left_out = len(tasks) - len(shown)
    remark = note(f"{left_out:,} shorter attempts are left out.") if left_out else ""
    # A name of a function must not end the script.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<style>{_asset("report", "timeline.css")}</style><div id="timeline"></div>{remark}'
        "<noscript><p>The timeline is drawn by a script, and scripts are off.</p></noscript>"
        f'{_DIALOG}<script type="application/json" id="attempts">{text}</script>'
        f'<script type="module">\n{_script()}</script>'
    )


def _longest(tasks: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if len(tasks) <= MAX_ATTEMPTS:
        return tasks
    took_ns = np.array([task["duration_ns"] for task in tasks])
    longest = np.sort(np.argpartition(-took_ns, MAX_ATTEMPTS)[:MAX_ATTEMPTS])
    return [tasks[row] for row in longest.tolist()]


def _columns(timeline: Timeline, tasks: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    """Return what the script knows of each attempt; inputs are those who made them, by row."""
    attempts = timeline.attempts
    made_by = {}
    for row, task in enumerate(tasks):
        made_by[task["name"]] = row
        if outputs := task.get("outputs"):
            made_by.update(dict.fromkeys(outputs.split(), row))
    needed = [inputs.split() if (inputs := task.get("inputs")) else [] for task in tasks]
    makers = [made_by.get(name, -1) for names in needed for name in names[:_SHOWN_INPUTS]]
    shown = [min(len(names), _SHOWN_INPUTS) for names in needed]
    return {
        "start": attempts["start_s"],
        "took": (attempts["end_s"] - attempts["start_s"]).astype("f4"),
        "wait": attempts["wait_s"],
        "lane": attempts["lane"].astype("u2"),
        "label": attempts["label"].astype("u4"),
        "ended": attempts["ended"].astype("u1"),
        "attempt": np.array([task["attempt"] for task in tasks], "u2"),
        "nbytes": np.array([task["nbytes"] for task in tasks], "f8"),
        "name": np.array([_digits(str(task["name"])) for task in tasks], "u4"),
        "needed": np.array([len(names) for names in needed], "u4"),
        "inputs": np.array(makers, "i4"),
        "first": np.cumsum([0, *shown]).astype("u4"),
    }


def _digits(name: str) -> int:
    """Return the first eight digits of a name, as they are shown; none of what is no name."""
    try:
        return int(name[:8], 16)
    except ValueError:
        return 0


def _packed(column: Array) -> list[str]:
    little = column.astype(column.dtype.newbyteorder("<"), copy=False)
    return [column.dtype.str[1:], base64.b64encode(zlib.compress(little.tobytes())).decode()]


def _script() -> str:
    """Return the scripts as one module, which needs no server."""
    texts = [_asset("dashboard", name) for name in _LIVE]
    texts.append(_asset("report", "timeline.js"))
    whole = "\n".join(re.sub(r"(?m)^import .*;\n", "", text) for text in texts)
    return re.sub(r"(?m)^export ", "", whole)


def _asset(package: str, name: str) -> str:
    return (resources.files("freestone.observe") / package / "static" / name).read_text("utf-8")
