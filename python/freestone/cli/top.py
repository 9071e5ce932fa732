"""Show in the terminal what a running cluster does, as its live page shows it in a browser."""

from __future__ import annotations

import argparse
import os
import re
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from freestone.cli.clusters import chosen_cluster
from freestone.cli.output import Output, table
from freestone.cli.top_views import VIEWS, keys_line
from freestone.errors import UsageError

if TYPE_CHECKING:
    from freestone.observe.dashboard.reader import PageReader

__all__ = ["Keys", "configure", "execute", "screen", "watch"]

Figures = Mapping[str, Any]

_BAR_WIDTH = 12
_KEY = re.compile(r"\x1b\[.|.", re.DOTALL)
_MOVES = {"\x1b[A": -1, "k": -1, "\x1b[B": 1, "j": 1}
_LISTED_FAILURES = 3
# Lines besides those of functions, workers and failures.
_FIXED_LINES = 8
_FUNCTIONS = ["function", "progress", "waiting", "ready", "running", "done", "failed", "calls/s"]
_FUNCTIONS += ["mean"]
_WORKERS = ["worker", "host", "running", "cores", "resident", "memory", "disk", "in/s", "out/s"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "link", nargs="?", metavar="LINK", help="the page's address, with its token"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="its address, folder, name or id")
    parser.add_argument(
        "--interval", type=float, default=1.0, metavar="S", help="seconds between looks (1)"
    )
    parser.add_argument("--once", action="store_true", help="show it once, and end")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Show it until Ctrl-C or the cluster's end; once, where that is no terminal."""
    from freestone.observe.dashboard.reader import PageReader

    if arguments.interval < 0.1:
        raise UsageError(f"--interval is at least 0.1 s, not {arguments.interval}")
    page = PageReader(arguments.link or _link(arguments.cluster))
    try:
        figures = _look(page)
    except ConnectionError as error:
        return _report(error, 1)
    if arguments.once or output.form != "table" or not sys.stdout.isatty():
        output.show(figures, lambda: "\n".join(screen(figures, None, None, None)))
        return 0
    try:
        with _whole_screen(), Keys(arguments.interval) as keys:
            watch(lambda: _look(page, keys), _draw, keys.pause)
    except ConnectionError as error:
        # Somebody watched a cluster to its end.
        return _report(error, 0)
    except KeyboardInterrupt:
        pass
    return 0


def _report(error: ConnectionError, status: int) -> int:
    print(f"freestone top: {error}", file=sys.stderr)
    return status


def _link(cluster: str | None) -> str:
    from freestone.observe.control import ask

    found = chosen_cluster(cluster)
    link = ask(found["folder"], {"ask": "page"})["page"]
    if link is None:
        raise UsageError(
            f"the cluster {found.id} serves no page: it was opened with dashboard=False"
        )
    return str(link)


def _look(page: PageReader, keys: Keys | None = None) -> Figures:
    found = {**page.ask("summary"), "failed_lately": page.ask("failures")["failures"]}
    if keys is not None:
        found["keys"] = keys_line(keys.view)
        if keys.view in VIEWS:
            found["listed"] = VIEWS[keys.view].lines(page.ask, keys.chosen)
    return found


class Keys:
    """What somebody at the keyboard wants to see; where there is none, the first screen.

    Parameters
    ----------
    interval_s
        How long to wait for a key.

    Attributes
    ----------
    view : str
        The key of the view.
    chosen : int
        The row of it.
    """

    def __init__(self, interval_s: float) -> None:
        self.view: str = "o"
        self.chosen: int = 0
        self._interval_s = interval_s
        self._former: list[Any] | None = None

    def __enter__(self) -> Self:
        if sys.stdin.isatty():
            self._former = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *problem: object) -> None:
        if self._former is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._former)

    def pause(self) -> None:
        """Wait for the next look; a key is answered at once."""
        if self._former is None:
            return time.sleep(self._interval_s)
        if select.select([sys.stdin], [], [], self._interval_s)[0]:
            self.press(os.read(sys.stdin.fileno(), 64).decode(errors="replace"))

    def press(self, keys: str) -> None:
        """Do what keys ask for; ``q`` raises `KeyboardInterrupt`."""
        for key in _KEY.findall(keys):
            if key == "q":
                raise KeyboardInterrupt
            if key in VIEWS or key == "o":
                self.view, self.chosen = key, 0
            self.chosen = max(0, self.chosen + _MOVES.get(key, 0))


def watch(
    look: Callable[[], Figures],
    draw: Callable[[Figures, Figures | None], None],
    pause: Callable[[], None],
) -> None:
    """Draw what there is again and again, with rates between one look and the next.

    Parameters
    ----------
    look
        Gets the figures; what it raises ends the watch.
    draw
        Shows them, given those before.
    pause
        Waits for the next look.
    """
    before: Figures | None = None
    while True:
        now = look()
        draw(now, before)
        before = now
        pause()


@contextmanager
def _whole_screen() -> Iterator[None]:
    """Use the terminal's other screen, and leave the first as it was."""
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        yield
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


def _draw(now: Figures, before: Figures | None) -> None:
    size = shutil.get_terminal_size()
    lines = screen(now, before, size.columns, size.lines)
    # Each line is cleared after it is written: a screen that is cleared first flickers.
    sys.stdout.write("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K\x1b[J")
    sys.stdout.flush()


def screen(
    now: Figures, before: Figures | None, columns: int | None, lines: int | None
) -> list[str]:
    """Lay figures out.

    Parameters
    ----------
    now, before
        The page's summary, with ``failed_lately``; the look before, for rates.
    columns, lines
        The terminal's size; nothing is left out without one.

    Returns
    -------
    list of str
        The lines, without control characters.
    """
    seconds = 0.0 if before is None else now["now_s"] - before["now_s"]
    head = [_head(now), _tasks(now, before, seconds), ""]
    if "listed" in now:
        return _fitted([*head, *now["listed"]], now, columns, lines)
    failures = now["failed_lately"][:_LISTED_FAILURES]
    functions, workers = list(now["functions"]), list(now["workers"])
    if lines is not None:
        room = max(2, lines - _FIXED_LINES - len(failures))
        shown = min(len(workers), max(room // 2, room - len(functions)))
        workers, functions = workers[:shown], functions[: max(1, room - shown)]
    former = _by(before, "functions", "label")
    peers = _by(before, "workers", "worker")
    rows = [_function(one, former.get(one["label"]), seconds) for one in functions]
    machines = [_worker(one, peers.get(one["worker"]), seconds) for one in workers]
    has_custom = any(one["resources"] for one in workers)
    if has_custom:
        machines = [[*row, _resources(one)] for row, one in zip(machines, workers, strict=True)]
    laid_out = [
        *head,
        *_listed(_FUNCTIONS, rows, now["functions_in_all"]),
        "",
        *_listed([*_WORKERS, *["resources"] * has_custom], machines, len(now["workers"])),
        *(f"{failure['label']} {failure['ended']}: {failure['message']}" for failure in failures),
    ]
    return _fitted(laid_out, now, columns, lines)


def _fitted(
    laid_out: Sequence[str], now: Figures, columns: int | None, lines: int | None
) -> list[str]:
    """Cut lines to a terminal, the last of which has the keys."""
    keys = [now["keys"]] if "keys" in now else []
    if lines is not None:
        laid_out = laid_out[: lines - len(keys)]
        laid_out = [*laid_out, *[""] * ((lines - len(keys) - len(laid_out)) if keys else 0)]
    return [_printable(line)[:columns] for line in [*laid_out, *keys]]


def _head(now: Figures) -> str:
    from freestone.units import format_count, format_seconds

    up = format_seconds(round(now["now_s"]))
    slots = sum(worker["slots"] for worker in now["workers"])
    workers = format_count(len(now["workers"]), "worker")
    return f"{now['address']}, up {up}, {workers}, {format_count(slots, 'executor')}"


def _tasks(now: Figures, before: Figures | None, seconds: float) -> str:
    from freestone.units import format_count, format_nbytes

    states = ("waiting", "ready", "assigned", "done", "answered", "failed", "retried", "recovered")
    counts = ", ".join(
        f"{now[state]:,} {state}" for state in states if now[state] or state == "done"
    )
    moved = format_nbytes(now["transferred_nbytes"])
    rate = _rate(now, before, "done", seconds)
    return (
        f"tasks: {counts}; {rate} calls/s; {format_count(now['transfers'], 'transfer')} of {moved}"
    )


def _by(figures: Figures | None, kind: str, key: str) -> dict[str, Figures]:
    return {} if figures is None else {one[key]: one for one in figures[kind]}


def _rate(now: Figures, before: Figures | None, key: str, seconds: float) -> str:
    if before is None or seconds <= 0:
        return "-"
    return f"{max(0, now[key] - before[key]) / seconds:,.1f}"


def _byte_rate(now: Figures, before: Figures | None, key: str, seconds: float) -> str:
    from freestone.units import format_nbytes

    if before is None or seconds <= 0:
        return "-"
    return format_nbytes(round(max(0, now[key] - before[key]) / seconds))


def _function(now: Figures, before: Figures | None, seconds: float) -> list[object]:
    from freestone.units import format_seconds

    ended = now["done"] + now["failed"]
    submitted = ended + now["waiting"] + now["ready"] + now["assigned"]
    full = _BAR_WIDTH * ended // submitted if submitted else 0
    mean = format_seconds(now["busy_ns"] / 1e9 / ended) if ended else "-"
    states = ("waiting", "ready", "assigned", "done", "failed")
    return [
        _printable(now["label"])[:40],
        "#" * full + "." * (_BAR_WIDTH - full),
        *(now[state] for state in states),
        _rate(now, before, "done", seconds),
        mean,
    ]


def _worker(now: Figures, before: Figures | None, seconds: float) -> list[object]:
    from freestone.units import format_nbytes

    return [
        now["worker"] + (" leaves" if now["leaving"] else ""),
        _printable(now["host"])[:24],
        f"{now['running']}/{now['slots']}",
        "-" if now["cpu"] is None else f"{now['cpu']:.1f}/{now['cores']}",
        "-" if now["rss"] is None else format_nbytes(now["rss"]),
        f"{format_nbytes(now['memory_nbytes'])} / {format_nbytes(now['memory_quota'])}",
        format_nbytes(now["disk_nbytes"]),
        _byte_rate(now, before, "received_nbytes", seconds),
        _byte_rate(now, before, "sent_nbytes", seconds),
    ]


def _resources(now: Figures) -> str:
    taken = now["taken"]
    return ", ".join(
        f"{_printable(name)} {taken[name]}/{amount}" for name, amount in now["resources"].items()
    )


def _listed(head: Sequence[str], rows: Sequence[Sequence[object]], in_all: int) -> list[str]:
    lines = table(head, rows).splitlines()
    more = in_all - len(rows)
    # On the line of the heads, so that it takes no room.
    return [f"{lines[0]}  ({more} more)" if more > 0 else lines[0], *lines[1:]]


def _printable(text: str) -> str:
    """Leave out what a terminal would obey: names and messages come from anywhere."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
