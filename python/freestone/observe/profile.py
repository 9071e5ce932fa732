"""Where calls spend their time: a profile of samples, by stack."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from freestone.errors import UsageError
from freestone.units import format_seconds

if TYPE_CHECKING:
    from freestone.observe.flame import Node

__all__ = ["Frame", "FunctionTime", "Profile", "Stack"]

_SHOWN = 20


class Frame(NamedTuple):
    """A function of a stack.

    Attributes
    ----------
    function : str
        Its qualified name.
    file : str
        Where its code is, as the executor named it.
    line : int
        The line that ran, or that called the next function; 0 if there is none.
    """

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        """Give the name, and the file's name with the line."""
        return f"{self.function} ({_where(self.file, self.line)})" if self.file else self.function


Stack = tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class FunctionTime:
    """What a function took.

    Attributes
    ----------
    function, file : str
        Its qualified name, and where its code is.
    line : int
        The line of it that took most.
    self_s : float
        Seconds in itself, with the native code that it called.
    total_s : float
        Seconds with all that it called; a function that calls itself counts once.
    """

    function: str
    file: str
    line: int
    self_s: float
    total_s: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Where calls spent their time, from `Session.profile`; print it to read it.

    Attributes
    ----------
    title : str
        What it is of.
    stacks : mapping of tuple of Frame to (int, int)
        Nanoseconds and samples of each stack, whose outermost function comes first.
    """

    title: str
    stacks: Mapping[Stack, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of_records(cls, title: str, records: Iterable[Mapping[str, Any]]) -> Profile:
        """Sum up those records of a trace whose kind is ``profile``."""
        stacks: dict[Stack, tuple[int, int]] = {}
        for record in records:
            found = tuple(
                Frame(str(f), str(file), int(line)) for f, file, line in json.loads(record["stack"])
            )
            nanoseconds, samples = stacks.get(found, (0, 0))
            stacks[found] = (nanoseconds + record["duration_ns"], samples + record["samples"])
        return cls(title, stacks)

    @property
    def seconds(self) -> float:
        """The time of all samples."""
        return sum(nanoseconds for nanoseconds, _ in self.stacks.values()) / 1e9

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return sum(samples for _, samples in self.stacks.values())

    def functions(self) -> list[FunctionTime]:
        """Return what each function took, first what took most in itself."""
        own: dict[tuple[str, str], int] = {}
        total: dict[tuple[str, str], int] = {}
        lines: dict[tuple[str, str], dict[int, int]] = {}
        for stack, (nanoseconds, _) in self.stacks.items():
            own[stack[-1][:2]] = own.get(stack[-1][:2], 0) + nanoseconds
            for key, line in {frame[:2]: frame.line for frame in stack}.items():
                total[key] = total.get(key, 0) + nanoseconds
                of = lines.setdefault(key, {})
                of[line] = of.get(line, 0) + nanoseconds
        found = [
            FunctionTime(
                *key,
                max(lines[key], key=lines[key].__getitem__),
                own.get(key, 0) / 1e9,
                all_ns / 1e9,
            )
            for key, all_ns in total.items()
        ]
        return sorted(found, key=lambda one: (-one.self_s, -one.total_s, one.function))

    def as_dict(self) -> dict[str, Any]:
        """Return the functions that took most, and the flame graph, for JSON."""
        head, *_ = str(self).splitlines()
        times = [
            {
                "function": one.function,
                "where": _where(one.file, one.line) if one.file else "",
                "self_s": one.self_s,
                "total_s": one.total_s,
            }
            for one in self.functions()[:_SHOWN]
        ]
        return {"title": head, "times": times, "tree": self.tree().as_dict()}

    def __str__(self) -> str:
        """Give a table of the functions that took most."""
        if not self.stacks:
            return (
                f"{self.title}: no samples; calls are sampled on clusters with profile=True, by "
                "workers that were started with it (freestone worker --profile), if they take "
                "longer than from one sample to the next; an executor that is killed takes the "
                "samples of its last second with it"
            )
        total = self.seconds
        lines = [
            f"{self.title}: {self.samples:,} samples in {format_seconds(total)} of calls",
            f"{'self':>18} {'total':>18}  function",
        ]
        shown = self.functions()
        for one in shown[:_SHOWN]:
            where = f" ({_where(one.file, one.line)})" if one.file else ""
            times = f"{_share(one.self_s, total):>18} {_share(one.total_s, total):>18}"
            lines.append(f"{times}  {one.function}{where}")
        if len(shown) > _SHOWN:
            lines.append(f"... and {len(shown) - _SHOWN:,} more functions")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from freestone.observe import flame

        return flame.card(self.title, self.tree(), str(self))

    def html(self) -> str:
        """Return a flame graph and the table of functions, as a part of a page."""
        from freestone.observe import flame

        return flame.graph(self.tree(), str(self))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a flame graph as a page that loads nothing and has no scripts.

        Parameters
        ----------
        path
            The file, which is replaced if it is there.

        Raises
        ------
        OSError
            When it can't be written.

        Notes
        -----
        What takes less than 0.1 % of the time is left out; the file for speedscope has all of it.
        """
        from freestone.observe import flame

        Path(path).write_text(flame.page(self.title, self.tree(), str(self)), "utf-8")

    def to_speedscope(self, path: str | os.PathLike[str]) -> None:
        """Write the profile for https://www.speedscope.app, which shows it in a browser.

        Parameters
        ----------
        path
            The file, by custom ``NAME.speedscope.json``; it is replaced if it is there.

        Raises
        ------
        UsageError
            When there are no samples.
        OSError
            When it can't be written.
        """
        if not self.stacks:
            raise UsageError(str(self))
        known: dict[Frame, int] = {}
        samples = [
            [known.setdefault(frame, len(known)) for frame in stack] for stack in self.stacks
        ]
        weights = [nanoseconds for nanoseconds, _ in self.stacks.values()]
        found = {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "freestone",
            "name": self.title,
            "shared": {"frames": [_for_speedscope(frame) for frame in known]},
            "profiles": [
                {
                    "type": "sampled",
                    "name": self.title,
                    "unit": "nanoseconds",
                    "startValue": 0,
                    "endValue": sum(weights),
                    "samples": samples,
                    "weights": weights,
                }
            ],
        }
        Path(path).write_text(json.dumps(found), "utf-8")

    def tree(self) -> Node:
        """Return the functions below those that called them."""
        from freestone.observe.flame import Node

        root = Node("", 0)
        for stack, (nanoseconds, _) in self.stacks.items():
            root.add([str(frame) for frame in stack], nanoseconds)
        return root


def _where(file: str, line: int) -> str:
    return f"{file.rpartition('/')[2]}:{line}"


def _share(seconds: float, total: float) -> str:
    return f"{format_seconds(seconds)} {seconds / total if total else 0:5.1%}"


def _for_speedscope(frame: Frame) -> dict[str, str | int]:
    found: dict[str, str | int] = {"name": frame.function}
    if frame.file:
        found["file"] = frame.file
    if frame.line:
        found["line"] = frame.line
    return found
