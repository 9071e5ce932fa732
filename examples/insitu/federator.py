"""The diagnostics federator's own part: arithmetic, and what its computational ranks add up to."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from examples.insitu.items import EMPTY, Items, partials
from examples.insitu.settings import FIELDS, Part, Settings

__all__ = ["Federator", "Share"]

Values = tuple[float, float, float, float, float]

SHARE = struct.Struct("<6d")


class Share:
    """What an analytics rank adds to a reduction, of a step and a field.

    `sent` is when the last item in it was sent, 0 if there is none.
    """

    __slots__ = ("field", "sent", "step", "values")

    def __init__(self, step: int, field: int, sent: float, values: Values) -> None:
        self.step, self.field, self.sent, self.values = step, field, sent, values

    @property
    def tag(self) -> str:
        """What the reduction is called."""
        return f"{FIELDS[self.field]}#{self.step}"

    def pack(self) -> bytes:
        """Return it as bytes."""
        return SHARE.pack(self.sent, *self.values)


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
            sent, counts, sums, squares, least, greatest = zip(*rows, strict=True)
            values = (sum(counts), sum(sums), sum(squares), min(least), max(greatest))
            yield Share(step, field, max(sent), values)
