"""What tasks print and log: kept by task, within bounds, and shown in the program as it comes."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from freestone.observe.samples import Samples
from freestone.units import format_nbytes

if TYPE_CHECKING:
    from freestone._native.manager import Manager

__all__ = ["Collector", "Logs", "Printed"]

FIRST_NBYTES = 32 << 10
"""What is kept of each task's beginning,"""
LAST_NBYTES = 96 << 10
"""and of its end."""
TOTAL_NBYTES = 16 << 20
"""What is kept of all tasks together: of more, those go that have printed nothing for longest."""
LONG_LINE_NBYTES = 8 << 10
"""A line that is longer may be cut in two, as workers do, to keep a part of it."""
_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A piece of what a task printed.

    Attributes
    ----------
    name : str or None
        The name of the task's (first) output; None for what was printed while no task ran.
    label : str
        The task's function.
    worker : str
        Where it ran.
    stream : str
        ``stdout`` or ``stderr``, where `logging` writes.
    text : str
        Whole lines, or the end of a line that the task did not end; bytes that are no UTF-8 are
        replaced.
    left_out : int
        How many bytes are missing before the text, since it were too many.
    is_own : bool
        Whether it is of this program's task; the process of a cluster also keeps what the tasks of
        other programs print, for its live page.
    """

    name: str | None
    label: str
    worker: str
    stream: str
    text: str
    left_out: int = 0
    is_own: bool = True

    def __str__(self) -> str:
        """Return the text, after a line about what was left out."""
        return f"{_gap(self.left_out)}{self.text}"


@dataclass(frozen=True, slots=True)
class Logs:
    """What tasks printed; `str()` is the text, as it would have been in a terminal.

    Attributes
    ----------
    pieces : tuple of Printed
        In the order in which they came, task by task.
    left_out : int
        Bytes of other tasks that are no longer kept, or that came faster than they were taken.
    """

    pieces: tuple[Printed, ...] = ()
    left_out: int = 0

    def __str__(self) -> str:
        """Return the text, with a line wherever something was left out."""
        return _gap(self.left_out) + "".join(_joined(self.pieces))

    def __iter__(self) -> Iterator[Printed]:
        """Iterate over the pieces."""
        return iter(self.pieces)

    def __len__(self) -> int:
        """Return how many pieces there are."""
        return len(self.pieces)

    def _repr_html_(self) -> str:
        from freestone.observe import html

        text = html.escaped(str(self)) or "nothing was printed"
        style = f"{html.MONO};white-space:pre-wrap;max-height:30em;overflow:auto"
        return html.card(f'<div style="{style}">{text}</div>')


class _Kept:
    """What is kept of one task: its beginning and its end."""

    def __init__(self) -> None:
        self.first: list[Printed] = []
        self.last: deque[Printed] = deque()
        self.first_nbytes = self.last_nbytes = self.left_out = 0

    @property
    def nbytes(self) -> int:
        return self.first_nbytes + self.last_nbytes

    def add(self, piece: Printed) -> None:
        if not self.last:
            at = _before(piece.text, FIRST_NBYTES - self.first_nbytes)
            if at or not piece.text:
                self.first.append(replace(piece, text=piece.text[:at]))
                self.first_nbytes += at
                piece = replace(piece, text=piece.text[at:], left_out=0)
            if not piece.text:
                return
        self.last.append(piece)
        self.last_nbytes += len(piece.text)
        while (excess := self.last_nbytes - LAST_NBYTES) > 0:
            self._drop(excess)

    def _drop(self, excess: int) -> None:
        """Leave out the beginning of the end: a piece, or its first lines."""
        piece = self.last.popleft()
        at = _after(piece.text, excess)
        self.last_nbytes -= at
        self.left_out += piece.left_out + at
        if at < len(piece.text):
            self.last.appendleft(replace(piece, text=piece.text[at:], left_out=0))

    def pieces(self) -> Iterator[Printed]:
        yield from self.first
        for index, piece in enumerate(self.last):
            missing = piece.left_out + (self.left_out if index == 0 else 0)
            yield replace(piece, left_out=missing) if missing else piece


def _before(text: str, most: int) -> int:
    """Return where to cut so that at most so much is before it; only long lines are cut."""
    if len(text) <= most:
        return len(text)
    behind = text.rfind("\n", 0, most) + 1
    is_short = "\n" in text[most : most + LONG_LINE_NBYTES]
    return behind if behind or is_short else most


def _after(text: str, least: int) -> int:
    """Return where to cut so that so much is before it, or all is; only long lines are cut."""
    if len(text) <= least:
        return len(text)
    return text.find("\n", least - 1, least + LONG_LINE_NBYTES) + 1 or least


class Collector:
    """Keeps what a program's tasks print, and shows it on a thread.

    Parameters
    ----------
    manager
        Of the cluster.
    shown
        What is shown: ``all``, ``errors`` (what goes to standard error) or ``none``.

    Attributes
    ----------
    samples : Samples
        Where tasks spend their time, which comes the same way.
    """

    def __init__(self, manager: Manager, shown: str) -> None:
        self._manager, self._shown = manager, shown
        self.samples: Samples = Samples()
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._nbytes = self._left_out = 0
        self._line_of: tuple[str | None, str] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take what tasks print as it comes; until then it waits at the manager's thread."""
        self._thread = threading.Thread(target=self._collect, name="freestone-logs", daemon=True)
        self._thread.start()

    def logs(
        self, name: str | None = None, worker: str | None = None, *, of_others: bool = False
    ) -> Logs:
        """Return what a task printed, or all tasks at a worker, or all: of this program's tasks."""
        with self._lock:
            self._take()
            kept = list(self._kept.values())
            if name is not None:
                kept = [self._kept[name]] if name in self._kept else []
            pieces = (piece for task in kept for piece in task.pieces())
            found = tuple(
                piece
                for piece in pieces
                if (piece.is_own or of_others) and worker in (None, piece.worker)
            )
            return Logs(found, 0 if name is not None else self._left_out)

    def take(self) -> None:
        """Take what has come by now."""
        with self._lock:
            self._take()

    def recent(self, tasks: int) -> list[Logs]:
        """Return what each task of any program printed, those first that printed last."""
        with self._lock:
            self._take()
            kept = list(self._kept.values())[: -tasks - 1 : -1]
            return [Logs(tuple(task.pieces())) for task in kept]

    def close(self) -> None:
        """Show what came last, once the manager has ended."""
        if self._thread is not None:
            self._thread.join()
            with self._lock:
                self._take()

    def _collect(self) -> None:
        while not self._manager.closed:
            if self._manager.wait_printed(_WAIT_S):
                with self._lock:
                    self._take()

    def _take(self) -> None:
        """Keep what has come, and show it. Who calls has the lock: pieces stay in their order."""
        pieces, left_out = self._manager.take_printed()
        self._left_out += left_out
        if left_out:
            self._show("stderr", _gap(left_out))
        for name, label, worker, is_own, stream, text, missing in pieces:
            if stream == "profile":
                self.samples.add(name, label, is_own, text)
                continue
            piece = Printed(
                name=name,
                label=label,
                worker=f"worker-{worker}",
                stream=stream,
                text=text.decode("utf-8", "replace"),
                left_out=missing,
                is_own=is_own,
            )
            self._keep(piece)
            if is_own:
                self._show_piece(piece)
        if pieces:
            _flush()

    def _keep(self, piece: Printed) -> None:
        key = piece.name or piece.worker
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        self._nbytes -= kept.nbytes
        kept.add(piece)
        self._nbytes += kept.nbytes
        while self._nbytes > TOTAL_NBYTES and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._nbytes -= gone.nbytes
            self._left_out += gone.nbytes + gone.left_out

    def _show_piece(self, piece: Printed) -> None:
        if self._shown == "none" or (self._shown == "errors" and piece.stream != "stderr"):
            return
        of = (piece.name, piece.stream)
        start = "\n" if self._line_of not in (None, of) else ""
        self._show(piece.stream, f"{start}{piece}")
        self._line_of = of if not piece.text.endswith(("\n", "\r")) else None

    def _show(self, stream: str, text: str) -> None:
        if self._shown == "none":
            return
        # The program's streams may be closed, or a pipe that nobody reads.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            (sys.stderr if stream == "stderr" else sys.stdout).write(text)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _joined(pieces: Iterable[Printed]) -> Iterator[str]:
    """Yield texts, each task's on lines of its own."""
    before: Printed | None = None
    for piece in pieces:
        is_open = before is not None and not before.text.endswith(("\n", "\r"))
        is_cut = before is not None and (piece.left_out or _origin(before) != _origin(piece))
        if is_open and is_cut:
            yield "\n"
        yield str(piece)
        before = piece


def _origin(piece: Printed) -> tuple[str | None, str]:
    return piece.name, piece.stream


def _gap(nbytes: int) -> str:
    return f"[freestone: {format_nbytes(nbytes)} left out]\n" if nbytes else ""
