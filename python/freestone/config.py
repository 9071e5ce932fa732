"""Settings: by keyword, environment, file, or default, in this order.

Every setting can be given as a keyword of ``Cluster(...)``, as ``FREESTONE_<NAME>`` in the
environment, and in a TOML file: the one that ``FREESTONE_CONFIG`` names, or else ``freestone.toml``
in the current folder before ``~/.config/freestone/config.toml``. Unknown settings are refused, and
a wrong value is named with where it came from. Names that begin with ``FREESTONE__`` (two
underscores) are internal, those that begin with ``FREESTONE_EVENTS_`` to runs of ranks; both are
ignored here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from freestone.errors import ConfigurationError, did_you_mean
from freestone.errors.habits import OF_SETTINGS
from freestone.errors.keywords import suggest_keywords
from freestone.units import (
    format_nbytes,
    format_resources,
    format_seconds,
    parse_nbytes,
    parse_resources,
)

__all__ = ["Config", "Setting", "Settings", "format_nbytes", "format_seconds", "parse_nbytes"]

PREFIX = "FREESTONE_"
_OTHERS = (f"{PREFIX}_", f"{PREFIX}EVENTS_")
BY_OPTION = f"{PREFIX}_SET"
"""Which variables of the environment the option ``--set`` has set."""
_PROFILE_S = 0.02
_MIN_PROFILE_S = 0.001
_MAX_INLINE_NBYTES = 16 << 20
_MIN_TIER_NBYTES = 1 << 10
_MAX_COUNT = 2**31 - 1
_MAX_NBYTES = 2**63 - 1
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Setting(NamedTuple):
    """One setting, for people."""

    key: str
    value: Any
    text: str
    origin: str
    help: str


_Amount = int | float | str | None
_Path = str | os.PathLike[str] | None


class Settings(TypedDict, total=False):
    """The settings of a cluster as keywords: `Config` says what each means; None is its default."""

    workers: int | None
    executors: int | None
    memory: _Amount
    disk: _Amount
    gpus: int | None
    resources: str | Mapping[str, int] | None
    listen: str | None
    access_days: int | None
    max_calls: int | None
    reconnect_s: float | None
    cache: _Path
    folder: _Path
    trace: _Path
    transfers_in: int | None
    transfers_out: int | None
    scrub_nbytes_s: _Amount
    links: bool | None
    silence_s: float | None
    stopped_s: float | None
    spin_us: float | None
    inline_nbytes: _Amount
    preload: str | Sequence[str] | None
    retries: int | None
    start_timeout_s: float | None
    progress: bool | None
    dashboard: bool | None
    dashboard_hosts: str | Sequence[str] | None
    logs: str | None
    profile: float | str | bool | None
    spans: bool | None
    numpy_fallback: str | None


class _Given(NamedTuple):
    value: Any
    origin: str
    folder: Path


def _count(least: int) -> Callable[[_Given], int]:
    def parse(given: _Given) -> int:
        value = given.value
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        with contextlib.suppress(TypeError):
            if not isinstance(value, bool) and least <= (number := index(value)) <= _MAX_COUNT:
                return number
        raise ValueError(f"a whole number from {least} to {_MAX_COUNT:,}")

    return parse


def _amount(given: _Given) -> int:
    with contextlib.suppress(ValueError):
        if (nbytes := parse_nbytes(given.value)) <= _MAX_NBYTES:
            return nbytes
    raise ValueError("an amount of bytes, such as '2GiB'")


def _tier(given: _Given) -> int:
    nbytes = _amount(given)
    if 0 < nbytes < _MIN_TIER_NBYTES:
        raise ValueError(
            f"an amount of bytes, such as '2GiB', of at least {format_nbytes(_MIN_TIER_NBYTES)}: "
            f"{nbytes} bytes hold no block; write '{nbytes}GiB' or '{nbytes}MiB' for those"
        )
    return nbytes


def _small(given: _Given) -> int:
    nbytes = _amount(given)
    if nbytes > _MAX_INLINE_NBYTES:
        limit = format_nbytes(_MAX_INLINE_NBYTES)
        raise ValueError(f"at most {limit}: what travels in messages is copied by the manager")
    return nbytes


def _positive(given: _Given) -> float:
    try:
        value = float(given.value)
    except (TypeError, ValueError):
        value = -1.0
    if isinstance(given.value, bool) or not 0 <= value <= _MAX_COUNT:
        raise ValueError(f"a number from 0 to {_MAX_COUNT:,}")
    return value


def _seconds(least: float) -> Callable[[_Given], float]:
    def parse(given: _Given) -> float:
        with contextlib.suppress(ValueError):
            if (value := _positive(given)) >= least:
                return value
        raise ValueError(f"a number of at least {least:g}")

    return parse


def _interval(given: _Given) -> float:
    """Parse seconds, or whether it is the default number of them."""
    value = given.value
    text = str(value).strip().lower()
    if text in ("true", "yes", "on"):
        return _PROFILE_S
    if text in ("false", "no", "off"):
        return 0.0
    with contextlib.suppress(ValueError):
        seconds = _positive(given)
        if seconds == 0 or seconds >= _MIN_PROFILE_S:
            return seconds
    raise ValueError(f"true, false, or a number of seconds of at least {_MIN_PROFILE_S:g}")


def _flag(given: _Given) -> bool:
    text = str(given.value).strip().lower()
    if text not in _TRUE + _FALSE:
        raise ValueError("true or false")
    return text in _TRUE


def _choice(*words: str) -> Callable[[_Given], str]:
    def parse(given: _Given) -> str:
        if given.value not in words:
            raise ValueError(" or ".join(map(repr, words)))
        return str(given.value)

    return parse


def _folder(given: _Given) -> str:
    if not isinstance(given.value, str | os.PathLike) or not str(given.value):
        raise ValueError("a path")
    return str(given.folder / Path(given.value).expanduser())


def _place(given: _Given) -> str:
    place = given.value.removeprefix("tcp://") if isinstance(given.value, str) else ""
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError("an address such as 'tcp://0.0.0.0:0': a host, and a port or 0 for any")
    return f"tcp://{place}"


def _modules(given: _Given) -> str:
    value = given.value
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ValueError("names of modules, such as 'numpy,coffea.nanoevents'")
    found = [name.strip() for name in names if name.strip()]
    if not all(part.isidentifier() for name in found for part in name.split(".")):
        raise ValueError("names of modules, such as 'numpy,coffea.nanoevents'")
    return ",".join(found)


def _resources(given: _Given) -> str:
    try:
        return format_resources(parse_resources(given.value))
    except ValueError as error:
        raise ValueError(f"amounts by name: {error}") from None


def _hosts(given: _Given) -> str:
    value = given.value
    names = value.split(",") if isinstance(value, str) else value
    problem = "names of hosts without ports, such as 'hub.example.org'"
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ValueError(problem)
    found = [name.strip() for name in names if name.strip()]
    if any(set(name) & set(":/ ") for name in found):
        raise ValueError(problem)
    return ",".join(found)


def _setting(default: Any, parse: Callable[[_Given], Any], unit: str, text: str) -> Any:
    return field(default=default, metadata={"parse": parse, "unit": unit, "help": text})


@suggest_keywords
@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a cluster; make one with :meth:`load`."""

    workers: int | None = _setting(None, _count(1), "", "workers on this machine")
    executors: int | None = _setting(None, _count(0), "", "executors of each worker")
    memory: int | None = _setting(None, _tier, "bytes", "memory tier of each worker")
    disk: int | None = _setting(None, _tier, "bytes", "disk tier of each worker")
    gpus: int | None = _setting(None, _count(0), "", "graphics processors of each worker")
    resources: str = _setting("", _resources, "", "custom resources of each worker: a=1,b=2")
    listen: str | None = _setting(None, _place, "", "where workers of other machines join")
    access_days: int = _setting(30, _count(0), "days", "days that a certificate is valid")
    reconnect_s: float = _setting(30.0, _positive, "s", "how long to try to reconnect")
    cache: str | None = _setting(None, _folder, "", "folder of blocks that are kept forever")
    folder: str | None = _setting(None, _folder, "", "folder of sockets and logs")
    trace: str | None = _setting(None, _folder, "", "file for the run's trace")
    transfers_in: int = _setting(4, _count(1), "", "transfers to a worker at once")
    transfers_out: int = _setting(4, _count(1), "", "transfers from a worker at once")
    scrub_nbytes_s: int = _setting(
        32 << 20, _amount, "bytes/s", "rate at which blocks in memory are checked; 0: never"
    )
    links: bool = _setting(False, _flag, "", "hand blocks over as links between local workers")
    max_calls: int = _setting(
        5_000_000, _count(1), "", "calls that have not ended that a connected program may have"
    )
    silence_s: float = _setting(60.0, _seconds(1), "s", "how long a worker may be silent")
    stopped_s: float = _setting(10.0, _positive, "s", "how long an executor may be stopped")
    spin_us: float = _setting(50.0, _positive, "µs", "how long idle threads poll before they sleep")
    inline_nbytes: int = _setting(8192, _small, "bytes", "results up to here travel in messages")
    preload: str = _setting("", _modules, "", "modules that workers import for their executors")
    retries: int = _setting(0, _count(0), "", "how often a task that raises is retried")
    start_timeout_s: float = _setting(60.0, _positive, "s", "how long workers may take to start")
    progress: bool = _setting(False, _flag, "", "whether to show a bar of all tasks")
    dashboard: bool = _setting(True, _flag, "", "whether to serve a live page on loopback")
    dashboard_hosts: str = _setting("", _hosts, "", "proxies through which the page may be asked")
    logs: str = _setting(
        "all", _choice("all", "errors", "none"), "", "what of the tasks' prints the program shows"
    )
    profile: float = _setting(
        0.0, _interval, "s", "how often a call that runs is sampled; true: each 20 ms, 0: never"
    )
    spans: bool = _setting(False, _flag, "", "whether each task is a span of OpenTelemetry")
    numpy_fallback: str = _setting(
        "dask", _choice("dask", "error"), "", "who computes what arrays lack: dask, or error"
    )
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def load(
        cls, keywords: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> Config:
        """Merge keywords, environment, files and defaults.

        Parameters
        ----------
        keywords : mapping, optional
            As given to ``Cluster``; ``None`` stands for 'not given'.
        environment : mapping of str to str, optional
            By default that of this process.

        Returns
        -------
        Config
            All settings, amounts in bytes.

        Raises
        ------
        ConfigurationError
            If a setting is unknown, has a wrong value, or a file can't be read.
        """
        environment = os.environ if environment is None else environment
        given: dict[str, _Given] = {}
        for path in reversed(list(_files(environment))):
            given |= _from_file(path)
        given |= _from_environment(environment)
        here = Path.cwd()
        given |= {
            key: _Given(value, "keyword", here)
            for key, value in (keywords or {}).items()
            if value is not None or key not in KEYS
        }
        values = {key: _parse(key, value) for key, value in given.items()}
        return cls(**values, origins={key: value.origin for key, value in given.items()})

    def describe(self) -> list[Setting]:
        """Return each setting, its value and its origin."""
        return [self._describe(key) for key in KEYS]

    def _describe(self, key: str) -> Setting:
        metadata = KEYS[key]
        value = getattr(self, key)
        if value is None:
            text = "none" if metadata["parse"] in (_folder, _place) else "automatic"
        elif metadata["unit"] == "bytes":
            text = format_nbytes(value)
        else:
            text = f"{value:g}" if isinstance(value, float) else str(value)
            text = f"{text} {metadata['unit']}".rstrip()
        origin = self.origins.get(key, "default")
        return Setting(key, value, text, origin, metadata["help"])


KEYS: dict[str, Mapping[str, Any]] = {
    entry.name: entry.metadata for entry in fields(Config) if entry.metadata
}


def _parse(key: str, given: _Given) -> Any:
    if key not in KEYS:
        habit = f"; {OF_SETTINGS[key]}" if key in OF_SETTINGS else ""
        hint = habit or did_you_mean(key, KEYS) or f"; there are {', '.join(KEYS)}"
        raise ConfigurationError(f"unknown setting {key!r}{hint}", key=key, origin=given.origin)
    try:
        return KEYS[key]["parse"](given)
    except ValueError as error:
        kind = type(given.value).__name__
        problem = f"{key} is {given.value!r} ({kind}) and must be {error}"
        raise ConfigurationError(problem, key=key, origin=given.origin) from None


def _from_environment(environment: Mapping[str, str]) -> dict[str, _Given]:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        problem = "the folder in which this program runs was removed; change to another one"
        raise ConfigurationError(problem, key="config", origin="os.getcwd()") from None
    by_option = environment.get(BY_OPTION, "").split(",")

    def origin(key: str, value: str) -> str:
        name = key.removeprefix(PREFIX).lower()
        return f"--set {name}={value}" if key in by_option else f"environment {key}"

    return {
        key.removeprefix(PREFIX).lower(): _Given(value, origin(key, value), here)
        for key, value in environment.items()
        if key.startswith(PREFIX) and not key.startswith(_OTHERS) and key != f"{PREFIX}CONFIG"
    }


def _files(environment: Mapping[str, str]) -> Iterable[Path]:
    named = environment.get(f"{PREFIX}CONFIG")
    if named is not None:
        if not os.path.isfile(named):
            problem = f"the configuration file {named!r} does not exist"
            raise ConfigurationError(problem, key="config", origin=f"environment {PREFIX}CONFIG")
        yield Path(named)
        return
    home = environment.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    candidates = (Path("freestone.toml"), Path(home) / "freestone" / "config.toml")
    yield from (path for path in candidates if path.is_file())


def _from_file(path: Path) -> dict[str, _Given]:
    import tomllib

    origin = f"file {path}"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        problem = f"the configuration file can't be read: {error}"
        raise ConfigurationError(problem, key="config", origin=origin) from error
    folder = path.parent.absolute()
    return {key: _Given(value, origin, folder) for key, value in table.items()}
