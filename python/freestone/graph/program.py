"""Programs: what a call of a graph runs, step by step, in an executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["NOTE", "Step", "run"]

Step = tuple[int, tuple[Any, ...] | None, tuple[Any, ...], tuple[str, ...] | None, tuple[int, ...]]
"""Tool, values, references, keywords, slots to drop after it.

Without values, the arguments are those of the slots that `references` names. With them,
`references` has pairs of a place among the values and the slot whose value belongs there. The last
arguments are those of the keywords, if there are any.
"""

NOTE = "in step "
"""How the note of an error begins that says which step raised it."""


def run(
    tools: Sequence[Callable[..., Any]],
    code: Sequence[Step],
    results: Sequence[int],
    *inputs: Any,
) -> tuple[Any, ...]:
    """Run steps one after the other.

    Parameters
    ----------
    tools
        The functions that steps call, by number.
    code
        The steps; step k puts its value into slot `len(inputs) + k`.
    results
        The slots to return.
    *inputs
        The values of the first slots.

    Returns
    -------
    tuple
        The values of `results`, and at the end the seconds that each step took.

    Raises
    ------
    Exception
        What a step raised, with a note that says which one it was.
    """
    slots = [*inputs]
    del inputs
    seconds: list[float] = []
    clock = time.perf_counter
    before = clock()
    for step in code:
        try:
            slots.append(_take(tools, step, slots))
        except Exception as error:
            error.add_note(f"{NOTE}{len(seconds)}")
            raise
        now = clock()
        seconds.append(now - before)
        before = now
        for slot in step[4]:
            slots[slot] = None
    return (*(slots[slot] for slot in results), tuple(seconds))


def _take(tools: Sequence[Callable[..., Any]], step: Step, slots: list[Any]) -> Any:
    tool, values, references, names, _ = step
    arguments: list[Any]
    if values is None:
        arguments = [slots[slot] for slot in references]
    else:
        arguments = [*values]
        for place, slot in references:
            arguments[place] = slots[slot]
    if names is None:
        return tools[tool](*arguments)
    split = len(arguments) - len(names)
    return tools[tool](*arguments[:split], **dict(zip(names, arguments[split:], strict=True)))
