"""The configuration files of the paper's authors' tool, of the paper's time and of today.

Keys: see ``docs/reference/malleable.md``. A redistribution of 0 is collective there, 1 point to
point, 2 and 3 one-sided; a spawn method of 0 is Baseline, 1 Merge.
"""

from __future__ import annotations

import configparser
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from freestone.errors import ConfigurationError
from freestone.malleable.method import Method, Redistribution, Strategy
from freestone.malleable.synthetic.settings import (
    Capture,
    Group,
    Phase,
    Settings,
    Stage,
    check_keys,
)

__all__ = ["from_ini", "from_json"]

_OLD = ("pi", "matvec", "p2p", "bcast", "allgatherv", "reduce", "allreduce")
_NEW = ("pi", "matvec", "p2p", "", "", "bcast", "allgatherv", "reduce", "allreduce", "", "")
_CAPTURE: tuple[Capture, ...] = ("max", "mean", "median")
_REDISTRIBUTION: tuple[Redistribution, ...] = ("collective", "p2p", "onesided", "onesided")
_GENERAL = (
    "Total_Resizes",
    "Total_Stages",
    "Total_Phases",
    "Granularity",
    "SDR",
    "ADR",
    "Rigid",
    "Capture_Method",
    "Datasize",
)
_STAGE = (
    "Stage_Type",
    "Stage_Bytes",
    "Stage_Time",
    "Stage_Time_Capped",
    "Stage_Involved_Procs",
    "Identifier",
    "Involved_Procs",
    "Granularity",
)
_GROUP = (
    "Iters",
    "Procs",
    "FactorS",
    "Dist",
    "Spawn_Method",
    "Spawn_Strategy",
    "Redistribution_Method",
    "Redistribution_Strategy",
)


def from_ini(text: str) -> list[Settings]:
    """Read the format of the paper's time; lists give a configuration for each combination."""
    parser = configparser.ConfigParser(comment_prefixes=(";", "#"), inline_comment_prefixes=(";",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    sections = {name: dict(parser[name]) for name in parser.sections()}
    general = _section(sections, "general", _GENERAL)
    stages = tuple(
        _stage(_section(sections, f"stage{index}", _STAGE), general, _OLD)
        for index in range(int(general["Total_Stages"]))
    )
    groups = [
        _section(sections, f"resize{index}", _GROUP)
        for index in range(int(general["Total_Resizes"]) + 1)
    ]
    # Strategies are products of primes there: 1 for none, 2 for a thread, 3 for non-blocking.
    found = []
    for combination in _combinations(groups):
        made = tuple(_group(entry, _by_prime) for entry in combination)
        total = sum(group.iterations for group in made)
        found.append(_settings(general, (Phase(total, stages),), made, 1))
    return found


def from_json(table: Mapping[str, Any]) -> list[Settings]:
    """Read today's format."""
    general = table["general"]
    check_keys(general, _GENERAL, "general")
    phases = tuple(_phase(entry, general) for entry in table["phases"])
    groups = tuple(_group(entry, _by_number) for entry in table["groups"])
    for entry in table["groups"]:
        check_keys(entry, _GROUP, "a group")
    return [_settings(general, phases, groups, int(general.get("Datasize", 1)))]


def _settings(
    general: Mapping[str, Any], phases: tuple[Phase, ...], groups: tuple[Group, ...], unit: int
) -> Settings:
    return Settings(
        phases=phases,
        groups=groups,
        variable_nbytes=round(float(general.get("SDR", 0)) * unit),
        constant_nbytes=round(float(general.get("ADR", 0)) * unit),
        is_rigid=bool(int(general.get("Rigid", 0))),
        capture=_CAPTURE[int(general.get("Capture_Method", 0))],
        # As the authors' tool does it.
        relabel=False,
        share=False,
    )


def _phase(entry: Mapping[str, Any], general: Mapping[str, Any]) -> Phase:
    for stage in entry["stages"]:
        check_keys(stage, _STAGE, "a stage")
    stages = tuple(_stage(stage, general, _NEW) for stage in entry["stages"])
    return Phase(int(entry["Total_Iters"]), stages)


def _stage(entry: Mapping[str, Any], general: Mapping[str, Any], kinds: tuple[str, ...]) -> Stage:
    number = int(entry["Stage_Type"])
    kind = kinds[number] if 0 <= number < len(kinds) else ""
    if not kind:
        known = ", ".join(f"{index} ({name})" for index, name in enumerate(kinds) if name)
        problem = f"Stage_Type is {number}, which is not emulated; there are {known}"
        raise ConfigurationError(problem, key="Stage_Type", origin="configuration")
    return Stage(
        kind,
        float(entry.get("Stage_Time", 0)),
        int(float(entry.get("Stage_Bytes", 0))),
        int(entry.get("Granularity", general.get("Granularity", 600))),
        bool(int(entry.get("Stage_Time_Capped", 0))),
    )


def _group(entry: Mapping[str, Any], strategy: Any) -> Group:
    processes = "merge" if int(entry.get("Spawn_Method", 0)) else "baseline"
    redistribution = _REDISTRIBUTION[int(entry.get("Redistribution_Method", 0))]
    method = Method(
        "merge" if processes == "merge" else "baseline",
        redistribution,
        strategy(entry.get("Redistribution_Strategy", 1)),
    )
    return Group(int(entry["Procs"]), int(entry["Iters"]), float(entry.get("FactorS", 1)), method)


def _by_prime(value: Any) -> Strategy:
    number = int(value)
    if number % 2 == 0 and number:
        return "thread"
    return "nonblocking" if number > 1 else "sync"


def _by_number(value: Any) -> Strategy:
    numbers = value if isinstance(value, list) else [value]
    if 1 in numbers:
        return "thread"
    return "nonblocking" if any(numbers) else "sync"


def _combinations(groups: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """Yield a list of groups for each choice from list values; Procs and FactorS go together."""
    choices = []
    for index, group in enumerate(groups):
        pairs = list(zip(_words(group, "Procs", "1"), _words(group, "FactorS", "1"), strict=True))
        choices.append([(index, {"Procs": p, "FactorS": f}) for p, f in pairs])
        for key in ("Spawn_Method", "Redistribution_Method", "Redistribution_Strategy"):
            if key in group:
                choices.append([(index, {key: word}) for word in _words(group, key, "0")])
    for chosen in itertools.product(*choices):
        found = [dict(group) for group in groups]
        for index, values in chosen:
            found[index] |= values
        yield found


def _words(group: Mapping[str, str], key: str, default: str) -> list[str]:
    return [word.strip() for word in group.get(key, default).split(",")]


def _section(
    sections: Mapping[str, dict[str, str]], name: str, known: tuple[str, ...]
) -> dict[str, str]:
    if name not in sections:
        problem = f"there is no section [{name}]; Total_Resizes and Total_Stages say how many"
        raise ConfigurationError(problem, key=name, origin="configuration")
    check_keys(sections[name], known, f"[{name}]")
    return sections[name]
