"""The settings of a malleable job."""

from __future__ import annotations

import math
import numbers
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from freestone.errors import ConfigurationError, did_you_mean
from freestone.errors.keywords import suggest_keywords
from freestone.malleable.method import Method
from freestone.malleable.targets import Request, Schedule, Source, is_whole

__all__ = ["Balance", "Config", "require_same"]

Balance = Literal["rows", "nonzeros"]

_AGREED = (
    *("rows", "method", "relabel", "by_host", "share", "balance", "minimal", "weights", "slots"),
    *("check_every", "timeout_s", "spawn_timeout_s", "saves", "save_every", "load"),
)


@suggest_keywords
@dataclass(frozen=True, kw_only=True)
class Config:
    """How a job may change its number of processes.

    Parameters
    ----------
    rows : int, optional
        Of data that is registered without its own number of rows; 0 if they come later.
    targets : mapping of int to int, Source, or sequence of Source
        ``{500: 4}``: be 4 processes from the head of step 500 on; the value may be a
        ``Request`` with a method. Or who else decides: see ``freestone.malleable.targets``.
    method : Method or str, optional
        Such as ``"merge-p2p-nonblocking"``. By default chosen by network and by what was
        measured.
    relabel : bool
        Choose which process becomes which rank so that the fewest rows move. Otherwise rank
        ``r`` stays rank ``r``, as in the paper.
    by_host : bool
        Consider hosts in that choice: rows stay on their host where possible, and the busiest
        network card carries the least. Otherwise only processes count. Without hosts in `slots`,
        MPI places joining processes, and their hosts are not known beforehand.
    share : bool
        Keep constant data once per host, in memory that all its processes map, so that it
        changes owners without being moved. Otherwise MPI messages carry everything.
    balance : {"rows", "nonzeros"}, sequence of float, or callable
        What a resize distributes evenly; or weights of the ranks, in their order, of which as
        many are used as there are ranks. Or a function of the numbers of rows and of ranks, called
        on rank 0. It returns where the rows of each rank begin, and where the last one's end; or
        runs of rows, each as ``(start, stop, rank)``, any number to a rank: see `Array.runs`.
    minimal : bool
        Move as few rows in a resize as there can be if each rank is to have as many as any other.
        A rank may then have several runs of rows: see `Array.runs`. Ranks that stay keep their
        order.
    weights : str, optional
        The name of variable data with one number a row: how much work that row is. A resize, and
        `World.rebalance`, give each rank about as much; the rows begin dealt evenly.
    slots : int or mapping of str to int, optional
        The maximum number of processes; by host, joining processes are placed there.
    check_every : int
        Steps between two checks of the targets.
    timeout_s : float
        How long any wait for other ranks may take.
    spawn_timeout_s : float
        How long joining processes may take until they are ready; and how long MPI may take to
        start them before the job is ended.
    measurements : path, optional
        The table of preferred methods that ``freestone malleable analyse`` writes.
    on_resize : callable, optional
        Called on rank 0 with the record of each resize, done or failed.
    saves : path, optional
        The file of the job's state, on a file system that all ranks see. If it is there, the job
        goes on from it; `World.save` and `save_every` replace it; it is removed when the job ends
        in order.
    save_every : int, optional
        Save the state at the head of a step, every so many steps.
    load : path, optional
        A saved state to go on from where `saves` is not there; it is read only.
    trace : path, optional
        Write a timeline of the resizes to this file on rank 0, for Perfetto: when processes were
        spawned, data moved, and the job switched. Its name ends in ``.json``.

    Raises
    ------
    ConfigurationError
        If a value makes no sense.
    """

    rows: int | None = None
    targets: Mapping[int, int | Request] | Source | Sequence[Source] = ()
    method: Method | str | None = None
    relabel: bool = True
    by_host: bool = True
    share: bool = True
    balance: Balance | Sequence[float] | Callable[[int, int], Sequence[int]] = "rows"
    minimal: bool = False
    weights: str | None = None
    slots: int | Mapping[str, int] | None = None
    check_every: int = 1
    timeout_s: float = 600.0
    spawn_timeout_s: float = 60.0
    measurements: str | os.PathLike[str] | None = None
    on_resize: Callable[[Any], None] | None = None
    saves: str | os.PathLike[str] | None = None
    save_every: int | None = None
    load: str | os.PathLike[str] | None = None
    trace: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for key, least in (("rows", 0), ("check_every", 1), ("save_every", 1)):
            value = getattr(self, key)
            if value is not None and not is_whole(value, least):
                raise _wrong(key, value, f"a whole number of at least {least}")
            object.__setattr__(self, key, None if value is None else int(value))
        for key, largest in (("timeout_s", math.inf), ("spawn_timeout_s", threading.TIMEOUT_MAX)):
            value = getattr(self, key)
            if not _is_number(value) or not 0 < value <= largest:
                raise _wrong(key, value, "a number of seconds above 0")
        for key in ("relabel", "by_host", "share", "minimal"):
            if not isinstance(getattr(self, key), bool):
                raise _wrong(key, getattr(self, key), "true or false")
        self._check_slots()
        self._check_balance()
        if isinstance(self.method, str):
            object.__setattr__(self, "method", Method.parse(self.method))
        elif not isinstance(self.method, Method | None):
            raise _wrong("method", self.method, "a Method, or a name such as 'merge-p2p-sync'")
        if self.on_resize is not None and not callable(self.on_resize):
            raise _wrong("on_resize", self.on_resize, "a function")
        is_path = isinstance(self.measurements, str | os.PathLike)
        if self.measurements is not None and not (is_path and Path(self.measurements).is_file()):
            raise _wrong("measurements", self.measurements, "a file that exists")
        self._check_states()
        is_path = isinstance(self.trace, str | os.PathLike)
        if self.trace is not None and not (is_path and Path(self.trace).suffix == ".json"):
            raise _wrong("trace", self.trace, "a file whose name ends in .json")
        object.__setattr__(self, "targets", self._sources())

    def _check_states(self) -> None:
        if self.saves is None and self.save_every is not None:
            raise _wrong("save_every", self.save_every, "with saves=, which names the file")
        for key in ("saves", "load"):
            value = getattr(self, key)
            if value is None:
                continue
            if not isinstance(value, str | os.PathLike):
                raise _wrong(key, value, "a file")
            path = Path(value).resolve()
            if key == "load" and not path.is_file():
                raise _wrong(key, value, "a file that exists")
            if (path.exists() and not path.is_file()) or not path.parent.is_dir():
                raise _wrong(key, value, "a file in a folder that exists")
            object.__setattr__(self, key, path)

    def _check_slots(self) -> None:
        counts = list(self.slots.values()) if isinstance(self.slots, Mapping) else [self.slots]
        if self.slots is not None and not (counts and all(is_whole(n, 1) for n in counts)):
            raise _wrong("slots", self.slots, "a number of processes, or one for each host")

    def _check_balance(self) -> None:
        is_even = isinstance(self.balance, str) and self.balance == "rows"
        if self.minimal and (not is_even or self.weights is not None):
            raise _wrong("minimal", True, "without balance= and weights=, which say otherwise")
        if self.weights is not None:
            if not isinstance(self.weights, str):
                raise _wrong("weights", self.weights, "the name of registered data")
            if self.balance != "rows":
                raise _wrong("weights", self.weights, "without balance=, which says otherwise")
        if callable(self.balance):
            return
        if isinstance(self.balance, str):
            if self.balance not in ("rows", "nonzeros"):
                must = "'rows', 'nonzeros', a list of weights, or a function"
                raise _wrong("balance", self.balance, must)
            return
        weights = _anything(self.balance)
        if (
            not isinstance(weights, Sequence | np.ndarray)
            or not all(_is_number(weight) and 0 <= weight < math.inf for weight in weights)
            or not (len(weights) and weights[0])
        ):
            # One rank may be all there is.
            raise _wrong("balance", weights, "a list of weights of at least 0, the first above 0")
        object.__setattr__(self, "balance", tuple(float(weight) for weight in weights))

    def _sources(self) -> tuple[Source, ...]:
        given = self.targets
        if isinstance(given, Mapping):
            given = Schedule(given) if given else ()
        must = "a schedule such as {500: 4}, or sources of them"
        if isinstance(given, str) or not isinstance(given, Source | Sequence):
            raise _wrong("targets", given, must)
        sources = (given,) if isinstance(given, Source) else tuple(given)
        for source in map(_anything, sources):
            if not isinstance(source, Source):
                raise _wrong("targets", source, must)
        largest = max((source.largest() for source in sources), default=0)
        if self.places is not None and largest > self.places:
            raise _wrong("targets", largest, f"at most the {self.places} slots there are")
        return sources

    @property
    def states(self) -> tuple[Path | None, ...]:
        """The files that the job may go on from, the first before the second."""
        return self.saves, self.load  # type: ignore[return-value]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Who says how many processes there shall be."""
        return self.targets  # type: ignore[return-value]

    @property
    def places(self) -> int | None:
        """How many processes there may be at most."""
        slots = sum(self.slots.values()) if isinstance(self.slots, Mapping) else self.slots
        if isinstance(self.balance, str) or callable(self.balance):
            return slots
        return len(self.balance) if slots is None else min(slots, len(self.balance))

    def agreed(self) -> dict[str, str]:
        """Return the settings that must be the same on all ranks, as text, by key."""
        found = {key: str(getattr(self, key)) for key in _AGREED}
        # Rank 0 is asked for targets, which may be another process after a resize.
        found["targets"] = "; ".join(source.agreed() for source in self.sources) or "none"
        if callable(self.balance):
            # That of rank 0 is called.
            found["balance"] = "a function"
        return found

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Config:
        """Make one from keys and values, such as those of a file.

        Raises
        ------
        ConfigurationError
            For an unknown key, too.
        """
        if not isinstance(_anything(table), Mapping):
            raise _wrong("config", table, "a Config, or a mapping of its settings")
        known = {field.name for field in fields(cls)}
        for key in table:
            if key not in known:
                hint = did_you_mean(key, known) or f"; there are {', '.join(sorted(known))}"
                raise ConfigurationError(f"unknown setting {key!r}{hint}", key=key, origin="config")
        return cls(**table)

    def with_settings(self, settings: Mapping[str, Any]) -> Config:
        """Return this one with other values for some keys."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return self.from_mapping({**own, **settings}) if settings else self


def require_same(own: Mapping[str, str], others: Mapping[str, str], who: str, has: str) -> None:
    """Require that a rank has the settings that, for example, "rank 0 has".

    Parameters
    ----------
    own, others : mapping of str to str
        What `Config.agreed` returns on both.
    who, has : str
        Whose they are, for the error.

    Raises
    ------
    ConfigurationError
        If they differ.
    """
    for key, value in others.items():
        if own[key] != value:
            problem = (
                f"{who} has {key} = {own[key]}, where {has} {value}; give all ranks the same "
                "settings"
            )
            raise ConfigurationError(problem, key=key, origin="config")


def _anything(value: Any) -> Any:
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _wrong(key: str, value: Any, must: str) -> ConfigurationError:
    return ConfigurationError(f"{key} is {value!r} and must be {must}", key=key, origin="config")
