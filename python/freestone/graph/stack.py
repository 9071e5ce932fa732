"""The paper's stack of improvements, each of which can be switched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from freestone.client.options import Keep
from freestone.errors import ConfigurationError, did_you_mean

__all__ = ["Stack"]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """How a graph is run.

    Everything is on by default; each switch that is off goes one step back in the evolution that
    the paper measures.

    Attributes
    ----------
    retain : bool
        Results stay with the workers that made them and go from worker to worker. If not, each
        goes back to the program, which sends it along with every call that needs it; and then
        neither `tree` nor `fuse` does anything.
    resident : bool
        Tasks are calls of functions that stay in the executors. If not, each task gets a new
        interpreter.
    hoist : bool
        What functions import is imported before their first call. Only if `resident`.
    tree : bool
        Wide tasks of known reducers become trees, by place first: see `associative`.
    fuse : bool
        Linear chains and short tasks share calls.
    isolation : str
        Of resident functions: ``"shared"``, or ``"fork"``, a child of the executor for each call.
    keep : str
        How long results stay: ``"task"`` until nothing needs them, or ``"session"``, ``"worker"``,
        ``"forever"``, so that the same graph is answered from them. Then only linear chains are
        fused, because what is retained must not depend on durations.
    pure : bool or None
        Whether equal tasks have equal results, so that one of them may answer for all, also for
        those of another graph, and a task may be tried on two workers at a time. If not, each key
        of each run is a task of its own. None for False unless results are kept: Dask's keys say
        which tasks are equal, and two that call the same function on the same values are not (they
        may draw random numbers).
    debug : bool
        Check on a sample of each reduction that the reducer is associative.
    retries : int or None
        How often a call may raise; None for the cluster's setting.
    timeout_s : float or None
        The longest time of a call, in seconds.
    resources : mapping
        What each call takes; see `Cluster.submit`.

    Examples
    --------
    >>> Stack(tree=False).with_options({"fuse": False}).fuse
    False

    References
    ----------
    Sly-Delgado et al., "Reshaping High Energy Physics Applications for Near-Interactive
    Execution Using TaskVine", table I and sections IV.A to IV.C.
    """

    retain: bool = True
    resident: bool = True
    hoist: bool = True
    tree: bool = True
    fuse: bool = True
    isolation: str = "shared"
    keep: Keep = "task"
    pure: bool | None = None
    debug: bool = False
    retries: int | None = None
    timeout_s: float | None = None
    resources: Mapping[str, int | str] = field(default_factory=dict)

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """Return the same stack with some options changed.

        Raises
        ------
        ConfigurationError
            For an option that there is not.
        """
        known = [entry.name for entry in fields(self)]
        for name in options:
            if name not in known:
                problem = f"there is no option {name!r} of a graph{did_you_mean(name, known)}"
                raise ConfigurationError(problem, key=name, origin="keyword")
        return replace(self, **options)

    def call_options(self) -> dict[str, Any]:
        """Give the options of calls, as `Cluster.submit` takes them."""
        return {
            "isolation": self.isolation if self.resident else "process",
            "keep": self.keep,
            "pure": self.keep != "task" if self.pure is None else self.pure,
            # It is a key of this run only, and may be run again for it.
            "rerun": True,
            "retries": self.retries,
            "timeout_s": self.timeout_s,
            "resources": self.resources,
        }
