"""Which module may import which: the table of docs/design.md, 'Layers', from the bottom up."""

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"_native", "errors", "units"}),
    frozenset({"config", "plugins"}),
    frozenset(
        {
            "functions",
            "hosts",
            "io",
            "observe.control",
            "observe.explain",
            "observe.figures",
            "observe.reprs",
            "observe.trace",
        }
    ),
    frozenset({"client", "node"}),
    frozenset({"compat", "observe"}),
    frozenset({"collections"}),
    frozenset({"partitions"}),
    frozenset({"events", "graph", "lang", "malleable"}),
    frozenset({"cluster"}),
    frozenset({"__init__"}),
    frozenset({"__main__", "cli", "demo", "testing"}),
)
"""The parts of `freestone`; a part imports from its own layer and those below.

A module of a part may have a place of its own.
"""

SIBLINGS = LAYERS[7]
"""The surfaces, which do not import one another."""

CRATES: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "tls": frozenset(),
    "core": frozenset({"base", "tls"}),
    "events": frozenset({"base", "tls"}),
    "events-c": frozenset({"events"}),
    "executor": frozenset({"base", "core"}),
    "io": frozenset({"base"}),
    "vector": frozenset({"base"}),
    "python": frozenset({"base", "core", "events", "executor", "io", "vector"}),
}
"""The crates of the workspace that each crate may depend on."""

BINDING_CRATES = frozenset({"python"})
"""The only crates that may see PyO3."""

IO_CRATES = frozenset({"libc", "mio", "rustls", "socket2", "tokio"})
"""What the pure crate, `base`, may not depend on."""

STATE_MACHINES = (
    "core/src/manager",
    "core/src/worker",
    "events/src/matching",
    "events/src/termination",
)
"""Folders of `crates` with no clock, socket, file or thread inside."""


def layer_of(module: str) -> int:
    """Return the index of the layer that holds `module`, a name below `freestone`, or its part."""
    names = module.split(".")
    for length in range(len(names), 0, -1):
        known = ".".join(names[:length])
        for index, layer in enumerate(LAYERS):
            if known in layer:
                return index
    raise LookupError(f"freestone.{module} has no place in LAYERS")
