"""The bar that rich draws, in a terminal and in a notebook."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from freestone.observe.progress import Bar

__all__ = ["RichBar", "make_bar"]


def make_bar(label: str, *, in_bytes: bool = False) -> Bar | None:
    """Make a bar on standard error, or None if rich is not installed.

    Parameters
    ----------
    label
        In front of the bar.
    in_bytes
        Whether what is counted are bytes, of which the bar then says how many a second.
    """
    try:
        from rich.console import Console
    except ImportError:
        return None
    return RichBar(Console(file=sys.stderr), label, in_bytes=in_bytes)


class RichBar:
    """A line with a bar, counts, the time so far and the time left.

    Parameters
    ----------
    console : rich.console.Console
        Where to draw; rich itself knows whether that is a terminal or a notebook.
    label : str
        In front of the bar.
    in_bytes : bool
        Whether counts are bytes.
    """

    def __init__(self, console: Console, label: str, *, in_bytes: bool = False) -> None:
        from rich import progress

        counted: tuple[progress.ProgressColumn, ...] = (progress.MofNCompleteColumn(),)
        if in_bytes:
            counted = (progress.DownloadColumn(), progress.TransferSpeedColumn())
        self._progress = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            *counted,
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[words]}", markup=False),
            console=console,
            # The thread that looks also draws: a second one would draw what has not changed.
            auto_refresh=False,
        )
        self._task = self._progress.add_task(label, total=None, words="")
        self._started = False

    def show(self, done: int, failed: int, total: int, words: str) -> None:
        """Draw how far the work is."""
        if not self._started:
            self._progress.start()
            self._started = True
        texts = [f"{failed:,} failed"] * bool(failed) + [words] * bool(words)
        self._progress.update(
            self._task,
            completed=done + failed,
            total=total,
            words=" · ".join(texts),
            refresh=True,
        )

    def close(self) -> None:
        """Leave the last line as it is and give the cursor back."""
        if self._started:
            self._progress.stop()
