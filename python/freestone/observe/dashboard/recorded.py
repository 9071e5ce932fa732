"""What the page asks of a run that was recorded; it is the live page's, with a report before it.

Times are in seconds since the run began.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from freestone.errors import UsageError
from freestone.observe import report
from freestone.observe.dashboard.graph import MAX_TASKS, of_records
from freestone.observe.dashboard.ranks import RanksView
from freestone.observe.forms import PARTIAL
from freestone.observe.report.document import FIGURES
from freestone.observe.report.series import Run
from freestone.observe.timeline import Timeline, span_of
from freestone.units import format_nbytes, format_seconds

__all__ = ["RecordedRanks", "RecordedRun"]

# A person reads no more.
LISTED = 200
_SHOWN_INPUTS = 8

Query = Mapping[str, str]
Record = Mapping[str, Any]


class _Recorded:
    """What is shown of a file: nothing of it changes any more, and nothing can be done to it."""

    closed = False

    def __init__(self, name: str, seconds: float) -> None:
        self._about = {"recorded": name, "now_s": seconds, "observed_s": 0.0, "failed": 0}
        self.questions: dict[str, Callable[[Query], Any]] = {"summary": lambda _: self._about}
        self.actions: dict[str, Callable[[dict[str, Any]], Any]] = {}

    def observe_while_asked(self) -> bool:
        """Record nothing."""
        return False

    def metrics(self) -> str:
        """Refuse: what is over is not scraped."""
        raise UsageError("a recorded run has no metrics")


class RecordedRanks(_Recorded):
    """What ranks did, or how a job was resized, from a file in Chrome's format.

    Parameters
    ----------
    path
        The file, or the folder of a run that has not ended, which becomes one.
    """

    def __init__(self, path: str) -> None:
        super().__init__(os.path.basename(path), 0.0)
        goes_on = os.path.isdir(path)
        ended = path.removesuffix(PARTIAL)
        self.questions["ranks"] = RanksView(
            lambda: [path if os.path.exists(path) else ended]
        ).answer
        self._about |= {"views": ["ranks"], "goes_on": goes_on}


class RecordedRun(_Recorded):
    """Answers what the page asks of a recorded run.

    Parameters
    ----------
    name
        What it is called.
    records
        Its trace.
    run
        That, summed up.
    before
        Another run that it is compared with, and its name.

    Notes
    -----
    It takes about a second and 100 MB for each 100,000 attempts.
    """

    def __init__(
        self,
        name: str,
        records: Sequence[Record],
        run: Run,
        before: tuple[str, Run] | None = None,
    ) -> None:
        super().__init__(name, run.seconds)
        self._run = run
        # The page's policy refuses attributes of style, so that its script sets them.
        self._report = "\n".join(report.parts(run, before)).replace(' style="', ' data-style="')
        self._origin_ns = run.begin_ns
        tasks = self._tasks = run.tasks
        self._attempts: dict[str, list[Record]] = {}
        for task in tasks:
            for made in (task["name"], *str(task.get("outputs") or "").split()):
                self._attempts.setdefault(made, []).append(task)
        moves = [record for record in records if record["kind"] == "transfer"]
        self._timeline = Timeline.of_records(self._origin_ns, tasks, moves)
        self._failed = [task for task in tasks if task["ended"] != "done"]
        self._reasons = {(one["name"], one["attempt"]): one for one in run.failures}
        self._about |= {
            "failed": len(self._failed),
            "transfers": len(moves),
            "transferred_nbytes": sum(move["nbytes"] for move in moves),
        }
        self.questions |= {
            "explain": self._explain,
            "failures": self._failures,
            "graph": self._graph,
            "report": self._answer_report,
            "timeline": self._tasks_over_time,
            "transfers": lambda _: self._timeline.transfers(LISTED),
        }
        views = ["report", "timeline", "graph", "transfers", "failures"]
        if run.profile:
            self.questions["profile"] = self._profile
            views.append("profile")
        self._about["views"] = views

    def _answer_report(self, query: Query) -> dict[str, Any]:
        return {"html": self._report, "css": f".report {{ {FIGURES} }}"}

    def _tasks_over_time(self, query: Query) -> dict[str, Any]:
        first_s, last_s = span_of(query, (0.0, max(1e-6, self._run.seconds)))
        width = min(4000, max(1, int(query.get("width", 1000))))
        found = self._timeline.tasks(first_s, last_s, width)
        return {"now_s": self._run.seconds, "observed_s": 0.0, **found}

    def _graph(self, query: Query) -> dict[str, Any]:
        last = {task["name"]: task for task in self._tasks}
        found = of_records(list(last.values()), MAX_TASKS)
        return {"limit": MAX_TASKS, "recorded": True, **found}

    def _failures(self, query: Query) -> dict[str, Any]:
        shown = [self._failure(task) for task in self._failed[-LISTED:]]
        return {"now_s": self._run.seconds, "failures": shown[::-1]}

    def _failure(self, task: Record) -> dict[str, Any]:
        """Tell of an attempt that did not end well, with its traceback if it was the last."""
        reason = self._reasons.get((task["name"], task["attempt"]), {})
        story = self._story(task["name"])
        return {
            "at_s": self._since_s(task["start_ns"] + task["duration_ns"]),
            **{key: task[key] for key in ("label", "name", "worker", "ended")},
            "attempts": task["attempt"],
            "message": reason.get("message") or "",
            "traceback": "\n".join(filter(None, (reason.get("traceback"), story))),
        }

    def _profile(self, query: Query) -> dict[str, Any]:
        profile = self._run.profile
        assert profile is not None, "it is asked for where there is one"
        return {"functions": [], **profile.as_dict()}

    # -- one task ---------------------------------------------------------------------------------

    def _explain(self, query: Query) -> dict[str, Any]:
        name = str(query.get("name", ""))
        if name not in self._attempts:
            raise ValueError(f"no task in the trace made {name[:40]!r}")
        return {"name": name, "stage": "done", "text": self._story(name), "log": ""}

    def _story(self, name: str) -> str:
        """Tell each attempt, and what the task waited for."""
        attempts = self._attempts[name]
        lines = [self._attempt(task) for task in attempts]
        inputs = str(attempts[-1].get("inputs") or "").split()
        lines += [f"  needed {self._made(one)}" for one in inputs[:_SHOWN_INPUTS]]
        if len(inputs) > _SHOWN_INPUTS:
            lines.append(f"  and {len(inputs) - _SHOWN_INPUTS:,} more inputs")
        return "\n".join(lines)

    def _attempt(self, task: Record) -> str:
        start_ns = task["start_ns"]
        waited_s = max(0, start_ns - (task.get("ready_ns") or start_ns)) / 1e9
        return (
            f"{task['label']}, attempt {task['attempt']} on {task['worker']}: ready "
            f"{format_seconds(waited_s)} before it began at {self._moment(start_ns)}; ran "
            f"{format_seconds(task['duration_ns'] / 1e9)}; {task['ended']}; made "
            f"{format_nbytes(task['nbytes'])}"
        )

    def _made(self, name: str) -> str:
        makers = self._attempts.get(name)
        if makers is None:
            return f"{name[:8]}, which no task made"
        end_ns = makers[-1]["start_ns"] + makers[-1]["duration_ns"]
        return f"{makers[-1]['label']} ({name[:8]}), which ended at {self._moment(end_ns)}"

    def _moment(self, at_ns: int) -> str:
        return format_seconds(max(0.0, self._since_s(at_ns)))

    def _since_s(self, at_ns: int) -> float:
        return (at_ns - self._origin_ns) / 1e9
