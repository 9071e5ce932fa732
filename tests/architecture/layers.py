"""Which module may import which: the table of docs/design.md, 'Layers', from the bottom up."""

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"_native", "enumerations", "errors", "units"}),
    frozenset({"config", "plugins", "replacing"}),
    frozenset(
        {
            "functions",
            "hosts",
            "io",
            "observe.calls",
            "observe.columns",
            "observe.control",
            "observe.explain",
            "observe.figures",
            "observe.flame",
            "observe.forms",
            "observe.html",
            "observe.journal",
            "observe.logs",
            "observe.profile",
            "observe.recorder",
            "observe.reprs",
            "observe.samples",
            "observe.spans",
            "observe.trace",
            "observe.workers",
        }
    ),
    frozenset({"client", "node"}),
    frozenset({"compat", "observe"}),
    frozenset({"collections", "storage.meters", "storage.zarr"}),
    frozenset({"storage"}),
    frozenset({"partitions"}),
    frozenset({"events", "graph", "lang", "malleable"}),
    frozenset({"cluster"}),
    frozenset({"__init__"}),
    frozenset({"__main__", "cli", "demo", "testing"}),
)
"""The rooms of `freestone`, from the bottom up; a room imports from its own layer and those below.

A module of a room may have a place of its own.
"""

INSIDE: dict[str, tuple[frozenset[str], ...]] = {
    "lang": (
        frozenset({"schemes", "settings"}),
        frozenset({"front"}),
        frozenset({"compile"}),
        frozenset({"run"}),
        frozenset({"script"}),
        frozenset({"serving"}),
        frozenset({"arrays", "daphnelib"}),
    ),
    "lang.front": (
        frozenset({"types"}),
        frozenset({"file_types", "parse", "queries", "ufuncs"}),
        frozenset({"graph", "sql"}),
        frozenset({"builtins", "extensions", "properties"}),
        frozenset({"build"}),
    ),
    "lang.run": (
        frozenset({"calibration"}),
        frozenset({"kernels"}),
        frozenset({"extensions"}),
        frozenset({"local"}),
        frozenset({"distributed"}),
    ),
}
"""The layers of rooms that have some, from the bottom up."""

SIBLINGS = LAYERS[8]
"""The surfaces, which do not import one another."""

CRATES: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "tls": frozenset(),
    "core": frozenset({"base", "tls"}),
    "events": frozenset({"base", "mpi", "tls"}),
    "events-c": frozenset({"base", "events"}),
    "malleable": frozenset({"base", "mpi"}),
    "malleable-c": frozenset({"base", "malleable"}),
    "mpi": frozenset(),
    "executor": frozenset({"base", "core"}),
    "io": frozenset({"base"}),
    "vector": frozenset({"base"}),
    "simulate": frozenset({"base", "core"}),
    "python": frozenset({"base", "core", "events", "executor", "io", "simulate", "vector"}),
}
"""The crates of the workspace that each crate may depend on."""

MANAGER = ("data", "graph", "members", "transfer", "schedule", "client", "shared")
"""The folders of the manager, from the bottom up; each may also extend `Manager` itself."""

MANAGER_DATA = frozenset({"api", "order", "overview", "shapes", "sharing", "table"})
"""Files of the manager that know nothing of its folders: together they count as the lowest."""

ROOMS: dict[str, frozenset[str]] = {
    **{crate: below for crate, below in CRATES.items() if crate != "core"},
    "core": frozenset(),
    "core::wire": frozenset({"base"}),
    "core::store": frozenset({"base", "core::wire"}),
    "core::worker": frozenset({"base", "core::store", "core::wire"}),
    "core::manager": frozenset({"base", "core::wire"}),
    "core::session": frozenset({"base", "core::manager", "core::wire"}),
    "core::journal": frozenset({"base", "core::manager", "core::session", "core::wire"}),
    "core::net": frozenset(
        {
            "base",
            "core::journal",
            "core::manager",
            "core::session",
            "core::store",
            "core::wire",
            "core::worker",
            "tls",
        }
    ),
    **{
        f"core::manager::{folder}": frozenset(
            {
                "base",
                "core::wire",
                "core::manager",
                *(f"core::manager::{one}" for one in MANAGER[:at]),
            }
        )
        for at, folder in enumerate(MANAGER)
    },
}
"""The modules of Rust that each may import from, besides those inside of it.

What holds for a crate holds for all that is in it.
"""

BINDING_CRATES = frozenset({"python"})
"""The only crates that may see PyO3."""

IO_CRATES = frozenset({"libc", "mio", "rustls", "socket2", "tokio"})
"""What the pure crate, `base`, may not depend on."""

STATE_MACHINES = (
    "core/src/manager",
    "core/src/session",
    "core/src/worker",
    "events/src/matching",
    "events/src/termination",
    "malleable/src/resize",
)
"""Folders of `crates` with no clock, socket, file or thread inside."""


def layer_of(module: str, layers: tuple[frozenset[str], ...] = LAYERS) -> int:
    """Return the index of the layer that holds `module`, or the longest beginning of its name."""
    names = module.split(".")
    for length in range(len(names), 0, -1):
        known = ".".join(names[:length])
        for index, layer in enumerate(layers):
            if known in layer:
                return index
    raise LookupError(f"{module} has no place among {[sorted(layer) for layer in layers]}")


def may_import(own: str, other: str) -> bool:
    """Tell whether a module may import another one, both named below `freestone`."""
    surface, imported = own.split(".")[0], other.split(".")[0]
    if surface != imported and {surface, imported} <= SIBLINGS:
        return False
    if layer_of(other) > layer_of(own):
        return False
    for room, layers in INSIDE.items():
        inside = f"{room}."
        # The room's own module, its door, stands above all that is in it.
        if own.startswith(inside) and other.startswith(inside):
            inner, outer = own.removeprefix(inside), other.removeprefix(inside)
            if layer_of(outer, layers) > layer_of(inner, layers):
                return False
    return True
