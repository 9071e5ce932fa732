"""How ranks run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freestone.errors import ConfigurationError, did_you_mean
from freestone.units import parse_nbytes

PREFIX = "FREESTONE_EVENTS_"
PROGRESS = ("worker", "thread")
MAPPINGS = ("none", "linear")
_FLAGS = {"1": True, "true": True, "True": True, "0": False, "false": False, "False": False}


@dataclass(frozen=True)
class Settings:
    """How ranks run; see `freestone.events.run`."""

    workers: int | None = None
    mapping: str = "none"
    report_mapping: bool = False
    progress: str = "worker"
    spin_us: int = 50
    arena: int = 1 << 30
    stuck_s: float | None = None
    send_timeout_s: float | None = None
    meet_timeout_s: float = 300.0
    trace: str | None = None

    def native(self) -> dict[str, Any]:
        """Return them as the native half wants them."""
        return {
            "workers": self.workers,
            "is_mapped": self.mapping == "linear",
            "report_mapping": self.report_mapping,
            "thread": self.progress == "thread",
            "spin_us": self.spin_us,
            "stuck_s": self.stuck_s,
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
    "stuck_s": _at_least(0.01, float),
    "send_timeout_s": _at_least(0.01, float),
    "meet_timeout_s": _at_least(0.01, float),
    "trace": _trace,
}
