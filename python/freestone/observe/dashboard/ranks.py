"""What ranks did and how jobs were resized, from the traces that the program has written."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from freestone.errors import FreestoneError
from freestone.observe import chrome
from freestone.observe.dashboard.timeline import span_of
from freestone.observe.report import lanes, ranks

__all__ = ["RanksView"]

_NONE = (
    "This program has written no trace of ranks or resizes. cluster.spmd(..., trace='x.json'), "
    "ev.run(..., trace='x.json') and malleable.World(trace='x.json') write some."
)


class RanksView:
    """Answers what the page asks of them; keeps the one that was asked for last.

    Parameters
    ----------
    files
        Returns which there are, the newest first.
    """

    def __init__(self, files: Callable[[], list[str]] = chrome.written) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._version = ""
        self._found = ranks.Activity()

    def answer(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return one trace as the page shows it, or only its key if the page knows it.

        Raises
        ------
        ValueError
            For a file that the program has not written.
        """
        files = self._files()
        if not files:
            return _answer(files, "", "none", [_NONE])
        file = query.get("file") or files[0]
        if file not in files:
            raise ValueError(f"the program has written no trace {file[:200]!r}")
        try:
            status = os.stat(file)
            version = f"{file}:{status.st_mtime_ns}:{status.st_size}"
            key = f"{version}:{query.get('from')}:{query.get('to')}"
            if query.get("known") == key:
                return {"files": files, "file": file, "key": key}
            with self._lock:
                if version != self._version:
                    self._found, self._version = ranks.load(chrome.read(file)), version
                found = self._found
        except (OSError, KeyError, TypeError, ValueError, FreestoneError) as error:
            return _answer(files, file, f"{file}: {error}", [f"It can't be shown: {error}"])
        shown = span_of(query, (0.0, max(found.seconds, 1e-6)))
        drawn = lanes.draw(found.rows, found.spans, found.arrows, shown)
        return {
            **_answer(files, file, key, ranks.summary(found)),
            "from_s": shown[0],
            "to_s": shown[1],
            "svg": drawn,
            "legend": lanes.colours(found.spans),
            "tables": [
                {"title": title, "head": head, "rows": rows}
                for title, head, rows in ranks.figures(found)
            ],
        }


def _answer(files: list[str], file: str, key: str, summary: list[str]) -> dict[str, Any]:
    """Return what there is to say when nothing can be drawn."""
    about = {"files": files, "file": file, "key": key, "summary": summary}
    return {
        **about,
        "from_s": 0,
        "to_s": 1,
        "plot": lanes.PLOT,
        "svg": "",
        "legend": [],
        "tables": [],
    }
