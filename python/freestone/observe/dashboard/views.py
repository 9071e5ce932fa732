"""What the page asks, and what it may do: each answer is an object for JSON.

Times are in seconds since the cluster was opened.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from freestone._native import __version__
from freestone.hosts.node import hostname
from freestone.observe import chrome
from freestone.observe.calls import call_text
from freestone.observe.dashboard import metrics
from freestone.observe.dashboard.graph import MAX_TASKS
from freestone.observe.dashboard.graph import answer as graph_answer
from freestone.observe.dashboard.processes import Usage, resident
from freestone.observe.dashboard.ranks import RanksView
from freestone.observe.timeline import Timeline, span_of
from freestone.observe.workers import worker_number
from freestone.units import custom_resources

if TYPE_CHECKING:
    from freestone.observe.dashboard import Watched
    from freestone.observe.recorder import Watch

__all__ = ["Views"]

# Of tasks and blocks, so many are listed: a person reads no more.
LISTED = 200
# Of so many tasks that printed something, the last characters of each.
LOGS = 50
_SHOWN_OF_LOG = 4096
_IDLE_S = 10.0
# Of what happened while the page did not ask, so many records are shown.
_MAX_WAITING = 1 << 17
# What the page has, in this order.
VIEWS = (
    "overview",
    "timeline",
    "tasks",
    "workers",
    "blocks",
    "transfers",
    "graph",
    "failures",
    "logs",
    "profile",
    "ranks",
)
_FUNCTION = ("waiting", "ready", "assigned", "done", "failed", "busy_ns")
_BLOCKS = ("blocks", "replicas", "nbytes")
_PEAKS = ("peak_nbytes", "resident_nbytes")
_MEMORY = ("blocks", *_PEAKS)
# Of blocks that no function is known for.
_NO_FUNCTION = "(put, or their tasks are forgotten)"

Query = Mapping[str, str]


class Views:
    """Answers what the page of a cluster asks.

    Parameters
    ----------
    cluster
        What it shows.
    """

    def __init__(self, cluster: Watched) -> None:
        self._cluster = cluster
        self._manager = cluster.client.manager
        # The clock that workers tell their times in, when the cluster was opened.
        self._origin_ns = time.monotonic_ns() - int((time.time() - cluster.started) * 1e9)
        self._timeline = Timeline(self._origin_ns)
        self._usage = Usage()
        self._ranks = RanksView()
        self._asked_s = 0.0
        self._observed_s = 0.0
        self._watch: Watch | None = None
        self._lock = threading.Lock()
        self.questions: dict[str, Callable[[Query], Any]] = {
            "blocks": self._blocks,
            "explain": self._explain,
            "failures": self._failures,
            "graph": self._graph,
            "logs": self._logs,
            "profile": self._profile,
            "ranks": self._ranks.answer,
            "summary": self._summary,
            "tasks": self._tasks,
            "timeline": self._tasks_over_time,
            "transfers": self._transfers,
        }
        self.actions: dict[str, Callable[[dict[str, Any]], Any]] = {
            "cancel": self._cancel,
            "retire": self._retire,
        }

    @property
    def closed(self) -> bool:
        """Whether the cluster has ended."""
        return self._cluster.client.closed

    # -- whether somebody looks -------------------------------------------------------------------

    def observe_while_asked(self) -> bool:
        """Have the manager record no more when nobody has asked for a while; whether it does."""
        with self._lock:
            if self._watch is None:
                return False
            # The records of a traced run are made anyway, and the page shows all of them.
            is_traced = self._cluster.client.config.trace is not None
            if is_traced or time.monotonic() - self._asked_s < _IDLE_S:
                return True
            self._watch.stop()
            self._watch = None
        return False

    def _observe(self) -> tuple[Watch, float]:
        """Have the manager record what happens; since when it does."""
        with self._lock:
            self._asked_s = time.monotonic()
            if self._watch is None:
                recorder = self._cluster.client.recorder
                self._watch = recorder.watch(_MAX_WAITING, wants_beginning=True)
                self._observed_s = 0.0 if self._watch.is_whole else self._now_s()
            return self._watch, self._observed_s

    def _add_what_is_new(self, watch: Watch) -> None:
        for rows, columns in watch.take():
            self._timeline.add(rows, columns)

    def _now_s(self) -> float:
        return (time.monotonic_ns() - self._origin_ns) / 1e9

    def _since_s(self, at_ns: int) -> float | None:
        return round((at_ns - self._origin_ns) / 1e9, 6) if at_ns else None

    # -- questions --------------------------------------------------------------------------------

    def _summary(self, query: Query) -> dict[str, Any]:
        _, observed_s = self._observe()
        figures = self._manager.statistics()
        overview = self._manager.overview(0)
        functions = _by_label(filter(_label, overview["functions"]), _FUNCTION)
        functions.sort(key=lambda one: (-one["assigned"] - one["ready"], -one["busy_ns"]))
        workers = [self._worker(worker) for worker in figures.pop("workers")]
        return {
            "views": VIEWS,
            "now_s": self._now_s(),
            "observed_s": observed_s,
            "pid": os.getpid(),
            "address": self._cluster.client.address,
            **figures,
            "functions": functions[:LISTED],
            "functions_in_all": len(functions),
            "failures": len(overview["failures"]),
            "workers": workers,
        }

    def _worker(self, worker: dict[str, Any]) -> dict[str, Any]:
        is_here = worker["host"] == hostname()
        used = self._usage.of(worker["pid"]) if is_here else {"cpu": None, "rss": None}
        custom = custom_resources(worker["resources"])
        keys = ("worker", "pid", "host", "slots", "leaving", "assigned", "done", "blocks", "nbytes")
        return {key: worker[key] for key in keys} | {
            **used,
            "cores": worker["resources"]["cores"],
            "disk_quota": worker["resources"]["disk"],
            "resources": custom,
            "taken": {name: held - worker["free"].get(name, 0) for name, held in custom.items()},
            **worker["status"],
        }

    def _tasks(self, query: Query) -> dict[str, Any]:
        self._observe()
        stage, label = query.get("stage") or None, query.get("function")
        overview = self._manager.overview(LISTED, label, stage)
        tasks = overview["tasks"]
        for task in tasks:
            task["call"] = call_text(task["label"], task.pop("arguments"))
            task["since_s"] = self._since_s(task.pop("since_ns"))
            task["waits_for"] = (task.pop("pause") or ("",))[0]
        labels = sorted(set(filter(None, map(_label, overview["functions"]))))
        return {"now_s": self._now_s(), "tasks": tasks, "functions": labels[:1000]}

    def _blocks(self, query: Query) -> dict[str, Any]:
        self._observe()
        overview = self._manager.overview(LISTED)
        functions = _by_label(overview["functions"], _BLOCKS, _PEAKS)
        functions = [
            {**figures, "label": figures["label"] or _NO_FUNCTION}
            for figures in functions
            if any(figures[key] for key in _MEMORY)
        ]
        functions.sort(key=lambda figures: (-figures["nbytes"], -figures["peak_nbytes"]))
        workers = self._manager.statistics()["workers"]
        executors = [executor for worker in workers for executor in _executors(worker)]
        return {"functions": functions, "blocks": overview["blocks"], "executors": executors}

    def _graph(self, query: Query) -> dict[str, Any]:
        self._observe()
        overview = self._manager.overview(0, graph=MAX_TASKS)
        return {"limit": MAX_TASKS, "recorded": False, **graph_answer(overview)}

    def _failures(self, query: Query) -> dict[str, Any]:
        self._observe()
        failures = self._manager.overview(0)["failures"]
        for failure in failures:
            failure["at_s"] = self._since_s(failure.pop("at_ns"))
        return {"now_s": self._now_s(), "failures": failures[::-1]}

    def _explain(self, query: Query) -> dict[str, Any]:
        name = _name(query)
        explanation = self._cluster.client.explain_named(name)
        log = str(self._cluster.client.logs.logs(name, of_others=True))[-_SHOWN_OF_LOG:]
        return {"name": name, "stage": explanation.stage, "text": str(explanation), "log": log}

    def _logs(self, query: Query) -> dict[str, Any]:
        self._observe()
        logs = self._cluster.client.logs.recent(LOGS)
        return {
            "logs": [
                {
                    "name": log.pieces[-1].name,
                    "label": log.pieces[-1].label,
                    "worker": log.pieces[-1].worker,
                    "text": str(log)[-_SHOWN_OF_LOG:],
                }
                for log in logs
            ]
        }

    def _profile(self, query: Query) -> dict[str, Any]:
        self._observe()
        logs = self._cluster.client.logs
        logs.take()
        label = query.get("function")
        found = (
            logs.samples.function(label, of_others=True)
            if label
            else logs.samples.all("all tasks", of_others=True)
        )
        return {"functions": logs.samples.labels()[:LISTED], **found.as_dict()}

    def _tasks_over_time(self, query: Query) -> dict[str, Any]:
        watch, observed_s = self._observe()
        with self._lock:
            self._add_what_is_new(watch)
            now_s = self._now_s()
            first_s, last_s = span_of(query, self._timeline.span())
            width = min(4000, max(1, int(query.get("width", 1000))))
            found = self._timeline.tasks(first_s, last_s, width)
        return {"now_s": now_s, "observed_s": observed_s, **found}

    def _transfers(self, query: Query) -> dict[str, Any]:
        watch, _ = self._observe()
        with self._lock:
            self._add_what_is_new(watch)
            return self._timeline.transfers(LISTED)

    def metrics(self) -> str:
        """Return what Prometheus scrapes; the manager records nothing for it."""
        figures = self._manager.statistics()
        return metrics.exposition(
            figures,
            self._manager.overview(0),
            [self._worker(worker) for worker in figures["workers"]],
            started_s=self._cluster.started,
            version=__version__,
            traces=chrome.written(),
        )

    # -- actions ----------------------------------------------------------------------------------

    def _cancel(self, body: dict[str, Any]) -> dict[str, Any]:
        if "tag" in body:
            return {"cancelled": self._cluster.client.cancel_everywhere(str(body["tag"]))}
        self._manager.cancel_named(bytes.fromhex(_name(body)))
        return {"cancelled": 1}

    def _retire(self, body: dict[str, Any]) -> dict[str, Any]:
        self._cluster.retire(worker_number(str(body["worker"])))
        return {"retiring": body["worker"]}


def _name(given: Mapping[str, Any]) -> str:
    name = str(given.get("name", ""))
    if len(name) != 32 or not set(name) <= set("0123456789abcdef"):
        raise ValueError(f"a name has 32 hexadecimal digits, unlike {name[:40]!r}")
    return name


def _executors(worker: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield executors that measured their memory, and what they have now if they are here."""
    is_here = worker["host"] == hostname()
    for pid, peak in worker["executors"].items():
        now = resident(pid) if is_here else None
        yield {"worker": worker["worker"], "pid": pid, "resident": now, "peak_nbytes": peak}


_label = itemgetter("label")


def _by_label(
    functions: Iterable[dict[str, Any]], keys: tuple[str, ...], peaks: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Sum functions of one name up: a program may define one several times."""
    found: dict[str, dict[str, Any]] = {}
    for function in functions:
        sums = found.setdefault(function["label"], {"label": function["label"]})
        for key in keys:
            sums[key] = sums.get(key, 0) + function[key]
        for key in peaks:
            sums[key] = max(sums.get(key, 0), function[key])
    return list(found.values())
