"""Processes of a job in one: communicators that carry messages in memory."""

from __future__ import annotations

from typing import Any

import numpy as np


class FakeRequest:
    """A message to or from another process."""

    def __init__(self, test: Any) -> None:
        self._test = test

    def Test(self) -> bool:  # noqa: N802
        """Tell whether it is through."""
        return bool(self._test())


class FakeComm:
    """What a process sees of a communicator whose messages are in `mail`.

    Processes that are lost take none.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        mail: dict[tuple[int, int, int], list[Any]],
        lost: frozenset[int] = frozenset(),
    ) -> None:
        self.rank, self.size, self._mail, self._lost = rank, size, mail, lost

    def Isend(self, buffer: Any, target: int, tag: int) -> FakeRequest:  # noqa: N802
        """Send a copy of the buffer."""
        self._mail.setdefault((self.rank, target, tag), []).append(np.array(buffer))
        return FakeRequest(lambda: target not in self._lost)

    def Irecv(self, buffer: Any, source: int, tag: int) -> FakeRequest:  # noqa: N802
        """Receive into the buffer, in the order of the requests."""
        queue = self._mail.setdefault((source, self.rank, tag), [])
        number = self._mail.setdefault((source, self.rank, -tag - 1), [])
        mine = len(number)
        number.append(None)

        def test() -> bool:
            if len(queue) <= mine:
                return False
            buffer[...] = queue[mine]
            return True

        return FakeRequest(test)

    def Ialltoallv(self, sent: Any, received: Any) -> FakeRequest:  # noqa: N802
        """Exchange with all others, of whom one that is lost is waited for."""
        return FakeRequest(lambda: not self._lost)
