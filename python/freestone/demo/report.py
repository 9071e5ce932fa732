"""The main job's results for a terminal: with rich where it is installed, plain elsewhere."""

import shutil
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from freestone.demo.fit import Z_MASS_GEV
from freestone.demo.result import TOLERANCE_GEV, DemoResult, Run, Sample
from freestone.demo.terminal import BLOCKS, CURVE, can_draw_blocks, plot_lines
from freestone.units import format_nbytes

RUN_HEADINGS = (
    "run",
    "pT cut",
    "calls run",
    "cached",
    "moved",
    "seconds",
    "events/s",
    "peak",
)

_NARROWEST = 80
_WIDEST = 140


class Console(Protocol):
    """What is needed of a console; `rich.console.Console` has it."""

    def print(self, *objects: Any) -> None:
        """Print objects and a line's end."""


class PlainConsole:
    """A console without rich."""

    def print(self, *objects: Any) -> None:
        """Print to standard output, as it is now."""
        print(*objects, file=sys.stdout)


def make_console() -> Console:
    """Return a rich console on standard output, or a plain one if rich is missing."""
    try:
        from rich.console import Console as RichConsole
    except ModuleNotFoundError:
        return PlainConsole()
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return RichConsole(highlight=False, width=width)


def render(result: DemoResult, console: Console | None = None) -> None:
    """Print all of a result.

    Parameters
    ----------
    result : DemoResult
        What to print.
    console : Console, optional
        Where to; by default standard output.
    """
    console = make_console() if console is None else console
    for sample in result.samples:
        render_sample(sample, console)
    render_runs(result, console)


def render_sample(sample: Sample, console: Console) -> None:
    """Print a sample's plot and the figures of its fit."""
    fit = sample.fit
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    height = 10 if sample.simulated else 14
    blocks = can_draw_blocks(getattr(console, "file", None))
    lines = plot_lines(sample, width=width, height=height, blocks=blocks)
    plus_minus = "±" if blocks else "+-"
    console.print("")
    console.print(f"{sample.title}: {sample.pairs:,} pairs of muons")
    console.print(_coloured(lines, console))
    console.print(
        f"peak at {fit.mass_gev:.2f} {plus_minus} {fit.mass_error_gev:.2f} GeV, "
        f"resolution {fit.resolution_gev:.2f} GeV, "
        f"chi2/dof {fit.chi2:.1f}/{fit.degrees_of_freedom}"
    )
    console.print("")


def render_runs(result: DemoResult, console: Console) -> None:
    """Print what the runs over the large input cost, and the mass."""
    making, fit = result.making, result.samples[0].fit
    console.print(
        f"{making.files:,} files, {making.files * making.events:,} events, "
        f"{format_nbytes(making.nbytes)}, made in {making.seconds:.1f} s"
    )
    console.print("")
    console.print(_table(RUN_HEADINGS, [_row(run) for run in result.runs], console))
    console.print("")
    console.print("The last run's histogram is the first one's, to the last bit.")
    console.print("")
    plus_minus = "±" if can_draw_blocks(getattr(console, "file", None)) else "+-"
    verdict = "within" if result.mass_is_right else "NOT within"
    console.print(
        f"Mass of the Z, measured: {fit.mass_gev:.2f} {plus_minus} {fit.mass_error_gev:.2f} GeV, "
        f"{verdict} {TOLERANCE_GEV:g} GeV of {Z_MASS_GEV:.1f}"
    )
    written = [result.picture, result.trace, *([making.folder] if making.folder else [])]
    console.print("Written: " + ", ".join(written))


def _row(run: Run) -> tuple[str, ...]:
    return (
        run.label,
        f"{run.softer_pt_gev:g} GeV",
        f"{run.calls:,}",
        f"{run.answered:,}",
        format_nbytes(run.moved_nbytes),
        f"{run.seconds:.2f}",
        _millions(run.events_per_s),
        f"{run.mass_gev:.2f}",
    )


def _millions(number: float) -> str:
    """Write a number in millions, with three digits, or more if it takes more."""
    millions = number / 1e6
    digits = 2 if millions < 9.995 else 1 if millions < 99.95 else 0
    return f"{millions:,.{digits}f} M"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> Any:
    if isinstance(console, PlainConsole):
        return format_table(headings, rows)
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for place, heading in enumerate(headings):
        side: Any = "right" if place else "left"
        table.add_column(heading, justify=side, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table in columns: the first flush left, the others flush right."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [
        [cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in cells]
        for cells in (enumerate(zip(line, widths, strict=True)) for line in lines)
    ]
    aligned.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(line) for line in aligned)


def _coloured(lines: Sequence[str], console: Console) -> Any:
    """Colour bars and curve where the console can."""
    text = "\n".join(lines)
    if isinstance(console, PlainConsole):
        return text
    from rich.text import Text

    drawn = Text(text, overflow="fold")
    drawn.highlight_regex(f"[{BLOCKS[1:]}]+", "blue")
    drawn.highlight_regex(f"{CURVE}+", "bold red")
    return drawn
