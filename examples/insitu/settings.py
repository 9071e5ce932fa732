"""What a run of the pipeline is, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["FIELDS", "FORMATS", "Outcome", "Results", "Settings"]

FIELDS = ("u", "v", "w", "theta", "qv", "ql", "p", "tke")
"""The model's fields, each carried by another wind."""

FORMATS = ("netcdf", "zarr")
"""What files are written as."""

Results = dict[tuple[int, int], tuple[float, float, float, float]]
"""Mean, variance, least and greatest value by step and field."""


@dataclass(frozen=True)
class Settings:
    """A run: `analytics` ranks, and as many times `models` computational ranks.

    Attributes
    ----------
    steps
        Time steps of the model.
    points
        Values of a field on one computational rank.
    interval
        Steps in one file.
    folder
        Where files go; none are written without.
    format
        ``"netcdf"`` or ``"zarr"``.
    period_s
        The time between two items of a rank; as fast as it goes, if 0.
    first, last
        By computational rank, the first step that it sends, and the one before which it
        leaves; all steps where nothing is given.
    """

    analytics: int = 2
    models: int = 1
    steps: int = 20
    points: int = 64
    interval: int = 10
    folder: Path | None = None
    format: str = "netcdf"
    period_s: float = 0.0
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("analytics", "models", "steps", "points", "interval"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")
        if self.format not in FORMATS:
            raise ValueError(f"format={self.format!r}: must be one of {', '.join(FORMATS)}")
        for member in range(self.members):
            if not 0 <= self.steps_of(member).start <= self.steps_of(member).stop <= self.steps:
                raise ValueError(f"rank {member} sends {self.steps_of(member)} of {self.steps}")

    @property
    def members(self) -> int:
        """How many computational ranks there are."""
        return self.analytics * self.models

    def steps_of(self, member: int) -> range:
        """Return the steps that a computational rank sends."""
        return range(self.first.get(member, 0), self.last.get(member, self.steps))

    def own(self, analytics: int) -> list[int]:
        """Return the computational ranks that an analytics rank serves."""
        return list(range(analytics, self.members, self.analytics))

    def root(self, step: int, field: int) -> int:
        """Return the analytics rank at which a reduction ends: they are spread over all."""
        return (step * len(FIELDS) + field) % self.analytics

    @property
    def items(self) -> int:
        """How many items all computational ranks send."""
        return sum(len(self.steps_of(member)) for member in range(self.members)) * len(FIELDS)


@dataclass
class Outcome:
    """What came out of a run.

    Attributes
    ----------
    results
        Of every step and field.
    seconds
        From the first item sent to the last result.
    latencies_s
        Of each step and field, from sending its last item to its result.
    cpu_s
        Processor time of the analytics ranks together.
    """

    results: Results = field(default_factory=dict)
    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


@dataclass
class Part:
    """An analytics rank's share of an outcome."""

    results: Results = field(default_factory=dict)
    latencies_s: list[float] = field(default_factory=list)
    first_sent: float = float("inf")
    last_result: float = 0.0
    cpu_s: float = 0.0


def joined(parts: list[Part]) -> Outcome:
    """Put the shares of all analytics ranks together."""
    outcome = Outcome()
    for part in parts:
        outcome.results.update(part.results)
        outcome.latencies_s += part.latencies_s
        outcome.cpu_s += part.cpu_s
    last = max(part.last_result for part in parts)
    outcome.seconds = last - min(part.first_sent for part in parts)
    return outcome
