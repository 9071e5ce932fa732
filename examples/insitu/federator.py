"""The diagnostics federator's own part: arithmetic, and what its computational ranks add up to."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from examples.insitu.items import EMPTY, Items, merge, partials
from examples.insitu.settings import FIELDS, Part, Settings

__all__ = ["Federator", "Share", "reduced"]

Values = tuple[float, float, float, float, float]

_SHARE = struct.Struct("<6d")


class Share:
    """What an analytics rank adds to the reduction of a step and a field.

    Attributes
    ----------
    tag
        What the reduction is called.
    body
        When the last item in it was sent, 0 if there is none, and its values.
    """

    __slots__ = ("body", "field", "step", "tag")

    def __init__(self, step: int, field: int, sent: float, values: Values) -> None:
        self.step, self.field = step, field
        self.tag = f"{FIELDS[field]}#{step}"
        self.body = _SHARE.pack(sent, *values)


def reduced(bodies: Iterable[Any]) -> tuple[float, Values]:
    """Reduce shares: when the last item in them was sent, and their values merged."""
    return _reduced([_SHARE.unpack(body) for body in bodies])


def _reduced(rows: list[tuple[float, ...]]) -> tuple[float, Values]:
    sent, *columns = zip(*rows, strict=True)
    return max(sent), merge(columns)


class Federator:
    """Adds up what the computational ranks of an analytics rank send, until all have."""

    def __init__(self, settings: Settings, analytics: int) -> None:
        self.settings = settings
        self.own = len(settings.own(analytics))
        self.open: dict[tuple[int, int], list[tuple[float, ...]]] = {}
        self.part = Part()

    def add(self, items: Items) -> Iterator[Share]:
        """Take in items; yield each share that is complete."""
        sent = items["sent"]
        self.part.first_sent = min(self.part.first_sent, float(sent.min()))
        rows = partials(items["values"]).tolist()
        keys = zip(items["step"].tolist(), items["field"].tolist(), strict=True)
        for (step, field), time, row in zip(keys, sent.tolist(), rows, strict=True):
            if self.own == 1:
                yield Share(step, field, time, row)
            else:
                yield from self._count(step, field, (time, *row))

    def skip(self, steps: range) -> Iterator[Share]:
        """Take note that a computational rank has nothing for some steps."""
        for step in steps:
            for field in range(len(FIELDS)):
                yield from self._count(step, field, (0.0, *EMPTY))

    def _count(self, step: int, field: int, row: tuple[float, ...]) -> Iterator[Share]:
        rows = self.open.setdefault((step, field), [])
        rows.append(row)
        if len(rows) == self.own:
            del self.open[step, field]
            yield Share(step, field, *_reduced(rows))
