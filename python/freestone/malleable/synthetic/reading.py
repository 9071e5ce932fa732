"""Reading configurations: TOML of our own, and INI and JSON of the authors' tool."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from freestone.errors import ConfigurationError, FileMissingError
from freestone.malleable.method import Method
from freestone.malleable.synthetic import authors
from freestone.malleable.synthetic.settings import Group, Phase, Settings, Stage, check_keys, wrong
from freestone.units import parse_nbytes

__all__ = ["read"]

_TOP = (
    "constant",
    "variable",
    "rigid",
    "capture",
    "relabel",
    "by_host",
    "share",
    "factors",
    "stages",
    "groups",
)
_STAGE = ("kind", "seconds", "nbytes", "granularity", "capped", "identifier", "involved")
_GROUP = ("processes", "iterations", "factor", "method")


def read(path: Path) -> list[Settings]:
    """Read a configuration; a list-valued one of the authors' tool gives several.

    Parameters
    ----------
    path : path
        ``.ini`` and ``.json`` are the authors' formats, any other name is TOML.

    Raises
    ------
    ConfigurationError
        For unknown keys and values that make no sense.
    FileMissingError
        If there is no such file.
    """
    if not path.is_file():
        raise FileMissingError(str(path))
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".ini":
            return authors.from_ini(text)
        if path.suffix == ".json":
            return authors.from_json(json.loads(text))
        return [from_table(tomllib.loads(text))]
    except (TypeError, ValueError, KeyError) as error:
        if isinstance(error, ConfigurationError):
            error.origin = str(path)
            raise
        problem = f"{path} can't be read: {type(error).__name__}: {error}"
        raise ConfigurationError(problem, key="config", origin=str(path)) from error


def from_table(table: Mapping[str, Any]) -> Settings:
    """Return what a TOML table says."""
    check_keys(table, _TOP, "the configuration")
    stages = tuple(_stage(entry) for entry in table.get("stages", []))
    groups = tuple(_group(entry) for entry in table.get("groups", []))
    total = sum(group.iterations for group in groups)
    return Settings(
        phases=(Phase(total, stages),),
        groups=groups,
        constant_nbytes=parse_nbytes(table.get("constant", 0)),
        variable_nbytes=parse_nbytes(table.get("variable", 0)),
        is_rigid=_flag(table, "rigid", False),
        capture=table.get("capture", "max"),
        relabel=_flag(table, "relabel", True),
        by_host=_flag(table, "by_host", True),
        share=_flag(table, "share", True),
        factors={int(size): float(factor) for size, factor in table.get("factors", {}).items()},
    )


def _stage(entry: Mapping[str, Any]) -> Stage:
    check_keys(entry, _STAGE, "a stage")
    return Stage(
        kind=entry.get("kind", ""),
        seconds=float(entry.get("seconds", 0)),
        nbytes=parse_nbytes(entry.get("nbytes", 0)),
        granularity=int(entry.get("granularity", 600)),
        is_capped=_flag(entry, "capped", False),
        identifier=int(entry.get("identifier", 0)),
        involved=int(entry.get("involved", 0)),
    )


def _group(entry: Mapping[str, Any]) -> Group:
    check_keys(entry, _GROUP, "a group")
    method = entry.get("method")
    return Group(
        processes=int(entry.get("processes", 0)),
        iterations=int(entry.get("iterations", 0)),
        factor=float(entry.get("factor", 1)),
        method=None if method is None else Method.parse(method),
    )


def _flag(table: Mapping[str, Any], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise wrong(key, value, "true or false")
    return value
