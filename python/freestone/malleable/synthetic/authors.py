"""The configuration files of the paper's authors' tool, of the paper's time and of today.

Keys: see ``docs/reference/malleable.md``. A redistribution of 0 is collective there, 1 point to
point, 2 and 3 one-sided; a spawn method of 0 is Baseline, 1 Merge. Files of the paper's time have
stages, today's have phases of stages, numbers of kinds of their own, and lists of strategies.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from typing import Any, TypeVar

from freestone.errors import ConfigurationError
from freestone.malleable.method import Method, Redistribution, Strategy
from freestone.malleable.synthetic.settings import (
    Capture,
    Group,
    Phase,
    Settings,
    Stage,
    check_keys,
    wrong,
)
from freestone.malleable.synthetic.variants import Table, expand

__all__ = ["from_ini", "from_json"]

T = TypeVar("T")

_OLD = ("pi", "matvec", "p2p", "bcast", "allgatherv", "reduce", "allreduce")
_NEW = (
    *("pi", "matvec", "p2p", "ip2p", "wait", "bcast", "allgatherv", "reduce", "allreduce"),
    *("write", "read"),
)
_CAPTURE: tuple[Capture, ...] = ("max", "mean", "median")
_REDISTRIBUTION: tuple[Redistribution, ...] = ("collective", "p2p", "onesided", "onesided")
# Of the first versions, by `Asynch_Redistribution_Type`.
_ASYNCHRONOUS: tuple[tuple[Redistribution, Strategy], ...] = (
    ("collective", "nonblocking"),
    ("collective", "nonblocking"),
    ("p2p", "nonblocking"),
    ("collective", "thread"),
)
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
_PHASE = ("Total_Iters", "Total_Stages", "stages")
_IDENTIFIERS = ("Stage_Identifier", "Stage_Involved_Procs", "Identifier", "Involved_Procs")
_STAGE = (
    *("Stage_Type", "Stage_Bytes", "Stage_Time", "Stage_Time_Capped", "Granularity"),
    *_IDENTIFIERS,
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
    "Asynch_Redistribution_Type",
)


def from_ini(text: str) -> list[Settings]:
    """Read INI; several values of a key give a configuration for each combination."""
    parser = configparser.ConfigParser(
        delimiters=("=",), comment_prefixes=(";", "#"), inline_comment_prefixes=(";",)
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    sections: dict[str, Table] = {name: dict(parser[name]) for name in parser.sections()}
    general = _section(sections, "general", _GENERAL)
    has_phases = "Total_Phases" in general
    table = {
        "general": general,
        "phases": _phases(sections, general) if has_phases else [_only_phase(sections, general)],
        "groups": [
            _section(sections, f"resize{index}", _GROUP)
            for index in range(int(general["Total_Resizes"]) + 1)
        ],
    }
    if has_phases or any(":" in word for each in sections.values() for word in each.values()):
        return [_settings(made, is_new=has_phases) for made in expand(table)]
    # At the paper's time a comma was what a colon is today.
    return [_settings(made, is_new=False) for made in expand(table, ",")]


def from_json(table: Mapping[str, Any]) -> list[Settings]:
    """Read JSON; several values of a key give a configuration for each combination."""
    known = {key: table[key] for key in ("general", "phases", "groups")}
    check_keys(table, tuple(known), "the configuration")
    return [_settings(made, is_new=True) for made in expand(known)]


def _phases(sections: Mapping[str, Table], general: Table) -> list[Table]:
    found = []
    for index in range(int(general["Total_Phases"])):
        phase = _section(sections, f"phase{index}", _PHASE)
        names = [f"phase{index}.stage{stage}" for stage in range(int(phase["Total_Stages"]))]
        found.append({**phase, "stages": [_section(sections, name, _STAGE) for name in names]})
    return found


def _only_phase(sections: Mapping[str, Table], general: Table) -> Table:
    names = [f"stage{index}" for index in range(int(general["Total_Stages"]))]
    return {"stages": [_section(sections, name, _STAGE) for name in names]}


def _section(sections: Mapping[str, Table], name: str, known: tuple[str, ...]) -> Table:
    if name not in sections:
        totals = "Total_Resizes, Total_Phases and Total_Stages say how many"
        problem = f"there is no section [{name}]; {totals}"
        raise ConfigurationError(problem, key=name, origin="configuration")
    check_keys(sections[name], known, f"[{name}]")
    return sections[name]


def _settings(table: Table, *, is_new: bool) -> Settings:
    general = table["general"]
    check_keys(general, _GENERAL, "general")
    groups = tuple(_group(entry, is_new=is_new) for entry in table["groups"])
    total = sum(group.iterations for group in groups)
    unit = int(general.get("Datasize", 1))
    stages = [stage for phase in table["phases"] for stage in phase["stages"]]
    # Numbers of kinds changed when stages got identifiers.
    has_identifiers = any(key in stage for stage in stages for key in _IDENTIFIERS)
    kinds = _NEW if is_new or has_identifiers else _OLD
    return Settings(
        phases=tuple(_phase(entry, general, total, kinds) for entry in table["phases"]),
        groups=groups,
        variable_nbytes=round(float(general.get("SDR", 0)) * unit),
        constant_nbytes=round(float(general.get("ADR", 0)) * unit),
        is_rigid=bool(int(general.get("Rigid", 0))),
        capture=_choice(_CAPTURE, general, "Capture_Method"),
        # As the authors' tool does it.
        relabel=False,
        share=False,
    )


def _phase(entry: Table, general: Table, total: int, kinds: tuple[str, ...]) -> Phase:
    check_keys(entry, _PHASE, "a phase")
    stages = tuple(_stage(stage, general, kinds) for stage in entry["stages"])
    return Phase(int(entry.get("Total_Iters", total)), stages)


def _stage(entry: Table, general: Table, kinds: tuple[str, ...]) -> Stage:
    check_keys(entry, _STAGE, "a stage")
    return Stage(
        _choice(kinds, entry, "Stage_Type"),
        float(entry.get("Stage_Time", 0)),
        int(float(entry.get("Stage_Bytes", 0))),
        _number(entry, "Granularity") or _number(general, "Granularity") or 600,
        bool(_number(entry, "Stage_Time_Capped")),
        _number(entry, "Stage_Identifier") or _number(entry, "Identifier"),
        _number(entry, "Stage_Involved_Procs") or _number(entry, "Involved_Procs"),
    )


def _group(entry: Table, *, is_new: bool) -> Group:
    check_keys(entry, _GROUP, "a group")
    if "Asynch_Redistribution_Type" in entry:
        redistribution, strategy = _choice(_ASYNCHRONOUS, entry, "Asynch_Redistribution_Type")
    else:
        redistribution = _choice(_REDISTRIBUTION, entry, "Redistribution_Method")
        given = entry.get("Redistribution_Strategy", 0 if is_new else 1)
        strategy = _by_number(given) if is_new else _by_prime(given)
    processes = _choice(("baseline", "merge"), entry, "Spawn_Method")
    method = Method("merge" if processes == "merge" else "baseline", redistribution, strategy)
    return Group(int(entry["Procs"]), int(entry["Iters"]), float(entry.get("FactorS", 1)), method)


def _choice(choices: tuple[T, ...], entry: Table, key: str) -> T:
    """Return what the number of a key stands for."""
    number = int(entry.get(key, 0))
    if not 0 <= number < len(choices):
        known = ", ".join(f"{index} ({its})" for index, its in enumerate(choices))
        raise wrong(key, number, f"one of {known}")
    return choices[number]


def _number(entry: Table, key: str) -> int:
    return int(entry.get(key) or 0)


def _numbers(value: Any) -> list[int]:
    words = value.split(",") if isinstance(value, str) else value
    return [int(word) for word in (words if isinstance(words, list) else [words])]


def _by_prime(value: Any) -> Strategy:
    """Strategies are products of primes: 1 for none, 2 for a thread, 3 for non-blocking."""
    numbers = [number for number in _numbers(value) if number]
    if any(number % 2 == 0 for number in numbers):
        return "thread"
    return "nonblocking" if any(number > 1 for number in numbers) else "sync"


def _by_number(value: Any) -> Strategy:
    """Strategies are numbers: 0 for none, 1 for a thread, 2 and 3 for non-blocking."""
    numbers = _numbers(value)
    if 1 in numbers:
        return "thread"
    return "nonblocking" if any(numbers) else "sync"
