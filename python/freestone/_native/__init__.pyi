"""The native half: manager, worker and executor. Not for users; see `freestone.Cluster`."""

from freestone._native import blocks as blocks
from freestone._native import events as events
from freestone._native import executor as executor
from freestone._native import folders as folders
from freestone._native import io as io
from freestone._native import layout as layout
from freestone._native import manager as manager
from freestone._native import simulation as simulation
from freestone._native import tls as tls
from freestone._native import vector as vector
from freestone._native import worker as worker

__all__ = [
    "__version__",
    "blocks",
    "enumerations",
    "events",
    "executor",
    "folders",
    "io",
    "layout",
    "manager",
    "simulation",
    "tls",
    "vector",
    "worker",
]

__version__: str

def enumerations() -> list[tuple[str, list[str]]]: ...
