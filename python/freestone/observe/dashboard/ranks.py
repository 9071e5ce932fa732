"""What ranks did and how jobs were resized, from the traces that the program has written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from freestone.errors import FreestoneError
from freestone.observe import chrome
from freestone.observe.forms import PARTIAL
from freestone.observe.ranks import events
from freestone.observe.report import lanes, ranks
from freestone.observe.rings import read_folder
from freestone.observe.timeline import span_of

__all__ = ["RanksView", "read_ranks"]

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
        self._took_s = 0.0
        self._found = ranks.Activity()

    def _version_of(self, file: str) -> str:
        """Return what changes when a trace does."""
        status = os.stat(file)
        if not os.path.isdir(file):
            return f"{file}:{status.st_mtime_ns}:{status.st_size}"
        # Of a run that goes on it changes so seldom that reading takes 5 % of the time at most.
        return f"{file}:{time.monotonic() // max(0.5, 20 * self._took_s)}"

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
            # A run that has ended meanwhile has become a file.
            file = file.removesuffix(PARTIAL)
        if file not in files:
            raise ValueError(f"the program has written no trace {file[:200]!r}")
        try:
            version = self._version_of(file)
            key = f"{version}:{query.get('from')}:{query.get('to')}"
            if query.get("known") == key:
                return {"files": files, "file": file, "key": key}
            with self._lock:
                if version != self._version:
                    began_s = time.monotonic()
                    self._found, self._version = ranks.load(read_ranks(file)), version
                    self._took_s = time.monotonic() - began_s
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


def read_ranks(file: str) -> Iterable[dict[str, Any]]:
    """Read what ranks did: from the folder of a run that has not ended, or a file."""
    return events(read_folder(file)) if os.path.isdir(file) else chrome.read(file)


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
