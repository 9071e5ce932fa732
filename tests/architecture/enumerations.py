"""`freestone.enumerations` as the native module has it; run this module to write it anew."""

from __future__ import annotations

from pathlib import Path

from freestone import _native

WRITTEN = Path(__file__).parents[2] / "python" / "freestone" / "enumerations.py"
HEAD = '''"""What Rust enumerates, by name: options, kinds of failures, settings of the engine.

Written by ``python -m tests.architecture.enumerations`` from the native module: change it there.
"""

from typing import Literal, get_args

__all__ = {names}
'''
DESCRIBED = {
    "isolation": (
        "Isolation",
        "ISOLATIONS",
        "Where a call runs: in a resident executor, a child of one, or an interpreter of its own.",
    ),
    "keep": (
        "Keep",
        "KEEPS",
        "How long a block stays when no future and no task needs it any more.",
    ),
    "failure": ("FailureKind", "FAILURE_KINDS", "Why a task failed, or can't run."),
    "scheme": ("Scheme", "SCHEMES", "How rows are cut into tasks."),
    "layout": (
        "Layout",
        "LAYOUTS",
        "One queue, one for each package, or one for each worker.",
    ),
    "victims": ("Victims", "VICTIMS", "In which order an idle worker visits other queues."),
    "placement": ("Placement", "NUMA", "On which memory nodes large results are placed."),
    "cell": ("Cell", "ENGINE_CELLS", "Types of elements that the engine computes with, by code."),
    "binary": ("Binary", "ENGINE_BINARY", "Operations of two sides that the engine has."),
    "unary": ("Unary", "ENGINE_UNARY", "Operations of one side that the engine has."),
    "reduction": ("Reduction", "REDUCTIONS", "What the engine reduces elements to."),
}
"""Of each enumeration the type, the tuple of all names, and what it says."""


def text() -> str:
    """Return the module as it has to be."""
    types, tuples, _ = zip(*DESCRIBED.values(), strict=True)
    public = [*sorted(tuples), *sorted(types)]
    listed = "[\n" + "".join(f'    "{each}",\n' for each in public) + "]"
    parts = [HEAD.format(names=listed)]
    for name, names in _native.enumerations():
        type_name, tuple_name, meaning = DESCRIBED[name]
        items = "".join(f'    "{each}",\n' for each in names)
        parts.append(f'{type_name} = Literal[\n{items}]\n"""{meaning}"""\n')
        parts.append(f"{tuple_name}: tuple[{type_name}, ...] = get_args({type_name})\n")
    return "\n".join(parts)


if __name__ == "__main__":
    WRITTEN.write_text(text(), encoding="utf-8")
