"""What a cluster answers to commands in other terminals, such as ``freestone status``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from freestone.observe.workers import worker_number

if TYPE_CHECKING:
    from freestone.cluster.cluster import Cluster

__all__ = ["answer"]

Question = dict[str, Any]


def answer(cluster: Cluster, question: Question) -> dict[str, Any]:
    """Answer a question; one without a known ``ask`` is for the figures."""
    reply = _ANSWERS.get(question.get("ask", ""), _status)
    return reply(cluster, question)


def _status(cluster: Cluster, question: Question) -> dict[str, Any]:
    manager = cluster.client.manager
    return {
        "statistics": manager.statistics(),
        "started": cluster.started,
        "programs": manager.clients,
    }


def _stop(cluster: Cluster, question: Question) -> dict[str, Any]:
    return {"stopping": cluster.stop()}


def _retire(cluster: Cluster, question: Question) -> dict[str, Any]:
    number = int(question["worker"])
    # Who asks chose from a list: the worker may have ended since.
    if number in {worker_number(one.worker) for one in cluster.statistics().workers}:
        cluster.retire(number)
    return _status(cluster, question)


def _cancel(cluster: Cluster, question: Question) -> dict[str, Any]:
    return {"cancelled": cluster.client.cancel_everywhere(question["tag"])}


def _grant(cluster: Cluster, question: Question) -> dict[str, Any]:
    return {"access": cluster.access_for(question["member"]).text()}


def _revoke(cluster: Cluster, question: Question) -> dict[str, Any]:
    cluster.revoke_access(question["member"])
    return _granted(cluster, question)


def _granted(cluster: Cluster, question: Question) -> dict[str, Any]:
    return {"granted": cluster.granted_access()}


def _script(cluster: Cluster, question: Question) -> dict[str, Any]:
    from freestone.lang import serving

    return serving.start(cluster.client, question)


def _script_output(cluster: Cluster, question: Question) -> dict[str, Any]:
    from freestone.lang import serving

    return serving.output(question)


_ANSWERS: dict[str, Callable[[Cluster, Question], dict[str, Any]]] = {
    "cancel": _cancel,
    "grant": _grant,
    "granted": _granted,
    "page": lambda cluster, _: {"page": cluster.dashboard_link},
    "retire": _retire,
    "revoke": _revoke,
    "stop": _stop,
    "script": _script,
    "script-output": _script_output,
}
