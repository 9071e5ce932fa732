"""One-sided: targets get what they need, and sources have nothing to do (the future work)."""

from __future__ import annotations

import os
from typing import Any

from freestone.malleable import together
from freestone.malleable.moving.transport import Transport, remaining

__all__ = ["OneSided"]

# As in point to point; and a get's count is an int in MPI 3.
_CHUNK = 32 << 20


class OneSided(Transport):
    """A window for each stream over what a source has, and `MPI_Rget` by the targets."""

    # Between processes of one start MPICH sends what is got in parts of some KiB, each at a look of
    # its source: nobody sleeps, therefore. Through UCX a target needs no source.
    nap_s = Transport.nap_s if os.environ.get("MPIR_CVAR_NOLOCAL") == "1" else 0.0

    _windows: list[Any]
    _requests: list[Any]

    def start(self) -> None:
        """Open the windows, which all do together, and begin to get."""
        from mpi4py import MPI

        self._windows, self._requests = [], []
        # Before the first get, behind whose parts every other message would wait.
        firsts = together.gather_all(
            self._bridge,
            [stream.span[0] for stream in self._streams],
            self._timeout_s,
            "opening the windows",
        )
        for stream in self._streams:
            span = stream.storage.view(*stream.span)
            window = MPI.Win.Create(span if len(span) else None, 1, comm=self._bridge)
            window.Lock_all()
            self._windows.append(window)
        for index, (stream, window) in enumerate(zip(self._streams, self._windows, strict=True)):
            for move in self._mine(stream, lambda move: move.target):
                for first in range(move.start, move.stop, _CHUNK):
                    view = stream.storage.view(first, min(first + _CHUNK, move.stop))
                    at = first - firsts[move.source][index]
                    place = (at, len(view), MPI.BYTE)
                    self._requests.append(window.Rget(view, move.source, place))

    def test(self) -> bool:
        """Tell whether this process has got all that it needs."""
        self._requests = remaining(self._requests)
        return not self._requests

    def finish(self) -> None:
        """Close the windows once all have what they need."""
        together.meet(self._bridge, self._timeout_s, "closing the windows", self.nap_s)
        for window in self._windows:
            window.Unlock_all()
            window.Free()
