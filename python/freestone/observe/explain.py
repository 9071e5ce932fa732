"""An explanation in sentences."""

from __future__ import annotations

from freestone.observe.figures import Attempt, Explanation
from freestone.units import format_nbytes, format_seconds

__all__ = ["explain"]


def explain(explanation: Explanation) -> str:
    """Tell why a task waits, or where and when it ran, attempt by attempt.

    Parameters
    ----------
    explanation : Explanation
        What the manager knows.

    Returns
    -------
    str
        One sentence for its state, one line per attempt that is known, one for its output.
    """
    lines = [_state(explanation)]
    attempts = explanation.attempts
    unknown = max(0, explanation.attempted - len(attempts))
    first = f"attempt {unknown + 1}" if unknown else "the first"
    for number, attempt in enumerate(attempts, unknown + 1):
        after_s = (attempt.sent_ns - attempts[0].sent_ns) / 1e9
        sent = f", sent {format_seconds(after_s)} after {first}" if number > unknown + 1 else ""
        lines.append(_attempt(number, attempt, sent))
    output = _output(explanation)
    return "\n".join([*lines, output] if output else lines)


def _state(explanation: Explanation) -> str:
    what = "the block" if explanation.stage == "block" else "the task"
    who = f"{explanation.label!r}" if explanation.label else what
    runs = max(explanation.attempted, len(explanation.attempts))
    return {
        "unknown": "the cluster does not know this name: it was released or never submitted",
        "waiting": f"{who} waits for {_inputs(explanation.waits_for)}",
        "ready": f"{who} is ready and waits for {_room(explanation)}",
        "assigned": f"{who} is at {_last_worker(explanation)}",
        "done": f"{who} is done" if runs else f"{who} is done: a retained block answered it",
        "failed": f"{who} failed after {_count(runs, 'attempt')}"
        if runs
        else f"{who} failed before it was tried",
        "released": f"{who} is done and its output was released: nothing needed it any more",
        "block": f"{who} is there: it was put, or the task that made it has been forgotten",
    }.get(explanation.stage, f"{who} is {explanation.stage}")


def _inputs(names: tuple[str, ...]) -> str:
    shown = ", ".join(name[:8] for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{_count(len(names), 'input')}: {shown}{more}" if names else "its inputs"


def _room(explanation: Explanation) -> str:
    needs = ", ".join(
        f"{format_nbytes(amount)} of {key}" if key in ("memory", "disk") else f"{amount} {key}"
        for key, amount in explanation.resources.items()
        if amount
    ).replace("1 cores", "1 core")
    ahead = f", behind {_count(explanation.ahead, 'task')}" if explanation.ahead else ""
    return f"a worker with {needs or 'a free executor'} free{ahead}".replace("free free", "free")


def _last_worker(explanation: Explanation) -> str:
    if not explanation.attempts:
        return "a worker"
    last = explanation.attempts[-1]
    if last.start_ns:
        return f"{last.worker} and runs"
    ahead = f" behind {_count(explanation.ahead, 'task')}" if explanation.ahead else ""
    return f"{last.worker} and waits there{ahead}"


def _attempt(number: int, attempt: Attempt, when: str) -> str:
    if attempt.ended == "running" and not attempt.start_ns:
        return f"  attempt {number} on {attempt.worker}{when}: not begun"
    wait_ns = attempt.start_ns - attempt.sent_ns
    waited = f", waited {format_seconds(wait_ns / 1e9)}" if attempt.start_ns and wait_ns > 0 else ""
    ran = f", ran {format_seconds(attempt.duration_ns / 1e9)}" if attempt.duration_ns else ""
    return f"  attempt {number} on {attempt.worker}{when}{waited}{ran}: {attempt.ended}"


def _output(explanation: Explanation) -> str:
    if explanation.nbytes is None:
        return ""
    size = format_nbytes(explanation.nbytes)
    if explanation.replicas:
        return f"  output: {size} on {', '.join(explanation.replicas)}"
    return f"  output: {size}, held by the manager" if explanation.stage == "done" else ""


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"
