"""How ranks run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freestone import _native
from freestone.errors import ConfigurationError, did_you_mean
from freestone.units import parse_nbytes

PREFIX = "FREESTONE_EVENTS_"
PROGRESS = ("worker", "thread", "program")
MAPPINGS = ("none", "linear")
_FLAGS = {"1": True, "true": True, "True": True, "0": False, "false": False, "False": False}


def _setting(default: Any, about: str) -> Any:
    return field(default=default, metadata={"help": about})


@dataclass(frozen=True)
class Settings:
    """How ranks run; see `freestone.events.run`."""

    workers: int | None = _setting(
        None, "how many tasks of a rank run at the same time; as many as it has cores"
    )
    mapping: str = _setting("none", "whether each worker stays on a core: `none` or `linear`")
    report_mapping: bool = _setting(False, "whether to say on stderr on which cores workers are")
    progress: str = _setting(
        "worker", "who looks for what arrives: `worker`, `thread` or `program`"
    )
    spin_us: int = _setting(
        50,
        "how long a rank looks for something to do before it sleeps; 0 with more ranks than cores",
    )
    arena: int = _setting(
        1 << 30, "the memory of the large events of a rank until they are consumed"
    )
    backlog: int = _setting(
        10_000, "how many tasks are ready when what arrives is left at its senders"
    )
    inbox: int = _setting(64 << 20, "the memory for what arrives while all workers are busy")
    stuck_s: float | None = _setting(
        None, "after how long without progress a rank says on stderr what waits"
    )
    slow_task_s: float | None = _setting(
        None, "after how long a task that runs without a wait is reported on stderr, with its line"
    )
    send_timeout_s: float | None = _setting(
        None, "for how long `fire` waits for room at its target before it is an error"
    )
    meet_timeout_s: float = _setting(300.0, "how long ranks wait for each other at the beginning")
    grace_s: float = _setting(10.0, "how long the others may take to end after a rank is lost")
    trace: str | None = _setting(None, "the file to which what ranks do is written, for Perfetto")

    def native(self) -> dict[str, Any]:
        """Return them as the native half wants them."""
        return {
            "workers": self.workers,
            "is_mapped": self.mapping == "linear",
            "report_mapping": self.report_mapping,
            "progress": self.progress,
            "spin_us": self.spin_us,
            "backlog": self.backlog,
            "inbox": self.inbox,
            "stuck_s": self.stuck_s,
            "slow_task_s": self.slow_task_s,
            "send_timeout_s": self.send_timeout_s,
        }


def resolve(
    given: Mapping[str, Any], ranks: int, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return settings: what was given, then the environment, then what suits the machine.

    Raises
    ------
    ConfigurationError
        For a value that makes no sense, and for a setting that there is not.
    """
    for key in given:
        if key not in _PARSERS:
            hint = did_you_mean(key, _PARSERS) or f"; there are {', '.join(_PARSERS)}"
            raise ConfigurationError(f"there is no setting {key!r}{hint}", key=key, origin=key)
    _native.events.renew_limits()
    cores = len(os.sched_getaffinity(0))
    found: dict[str, Any] = {"spin_us": 50 if ranks <= cores else 0}
    for key, parse in _PARSERS.items():
        variable = PREFIX + key.upper()
        origin, value = (key, given.get(key))
        if value is None:
            origin, value = (variable, environment.get(variable))
        if value is not None:
            found[key] = _parsed(parse, key, value, origin)
    return Settings(**found)


def _parsed(parse: Any, key: str, value: Any, origin: str) -> Any:
    try:
        return parse(value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{key}={value!r}: {error}", key=key, origin=origin) from None


def _at_least(least: float, kind: Any) -> Any:
    def parse(value: Any) -> Any:
        number = kind(value)
        if number < least:
            raise ValueError(f"must be at least {least:g}")
        return number

    return parse


def _one_of(words: tuple[str, ...]) -> Any:
    def parse(value: str) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return value

    return parse


def _flag(value: Any) -> bool:
    if str(value) not in _FLAGS:
        raise ValueError("must be true or false")
    return _FLAGS[str(value)]


def _trace(value: Any) -> str:
    path = os.fspath(value)
    if not str(path).endswith(".json"):
        raise ValueError("the file, for Perfetto, must end in .json")
    return str(path)


_PARSERS: dict[str, Any] = {
    "workers": _at_least(1, int),
    "mapping": _one_of(MAPPINGS),
    "report_mapping": _flag,
    "progress": _one_of(PROGRESS),
    "spin_us": _at_least(0, int),
    "arena": parse_nbytes,
    "backlog": _at_least(1, int),
    "inbox": parse_nbytes,
    "stuck_s": _at_least(0.01, float),
    "slow_task_s": _at_least(0.01, float),
    "send_timeout_s": _at_least(0.01, float),
    "meet_timeout_s": _at_least(0.01, float),
    "grace_s": _at_least(0.0, float),
    "trace": _trace,
}
