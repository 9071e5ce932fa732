"""A histogram and its fit, drawn with characters."""

import sys
from typing import TextIO

import numpy as np

from freestone.demo.fit import FIT_RANGE_GEV
from freestone.demo.physics import Floats
from freestone.demo.result import Sample

BLOCKS = " ▁▂▃▄▅▆▇█"
CURVE = "•"
ASCII_BLOCKS = " .:|#"
ASCII_CURVE = "*"

_TICK_GEV = 10
_GUTTER = 8


def can_draw_blocks(stream: TextIO | None = None) -> bool:
    """Tell whether a stream's encoding has the characters; standard output by default."""
    encoding = getattr(sys.stdout if stream is None else stream, "encoding", None) or "ascii"
    try:
        (BLOCKS + CURVE + "┤│└─┬").encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plot_lines(
    sample: Sample, *, width: int = 80, height: int = 14, blocks: bool = True
) -> list[str]:
    """Draw a sample's histogram as bars, with the fitted curve over it.

    Parameters
    ----------
    sample : Sample
        What to draw.
    width : int, optional
        Columns of the terminal. Every bin is as many columns wide as fit, at least one.
    height : int, optional
        Lines of the plot without the axis.
    blocks : bool, optional
        Whether to use block characters; else plain ASCII.

    Returns
    -------
    list of str
        Lines, none ending in a space.
    """
    per_bin = max(1, (width - _GUTTER) // sample.binning.bins)
    top = _round_up(float(sample.counts.max(initial=1)))
    bars = _bars(np.repeat(sample.counts, per_bin) / top * height, height, blocks)
    _overlay_curve(bars, sample, per_bin, top, ASCII_CURVE if not blocks else CURVE)
    axis = "│┤" if blocks else "||"
    lines = []
    for row in range(height - 1, -1, -1):
        label, mark = _tick(row, height, top)
        lines.append((label + axis[mark] + "".join(bars[row])).rstrip())
    return lines + _mass_axis(sample, per_bin, blocks)


def _round_up(value: float) -> float:
    """Return the next larger number of one or two digits: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8."""
    scale = 10.0 ** np.floor(np.log10(max(value, 1.0)))
    steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
    return float(next(step for step in steps if step * scale >= value) * scale)


def _bars(levels: Floats, height: int, blocks: bool) -> list[list[str]]:
    """Return rows of characters, the lowest first; `levels` are in rows."""
    shades = BLOCKS if blocks else ASCII_BLOCKS
    steps = len(shades) - 1
    parts = np.ceil(levels * steps - 1e-9).astype(int)
    return [
        [shades[min(max(int(part) - row * steps, 0), steps)] for part in parts]
        for row in range(height)
    ]


def _overlay_curve(
    bars: list[list[str]], sample: Sample, per_bin: int, top: float, mark: str
) -> None:
    columns = np.arange(sample.binning.bins * per_bin)
    masses = sample.binning.low + sample.binning.width * (columns + 0.5) / per_bin
    expected = sample.fit.expected(masses, sample.binning.width)
    for column in columns[(masses > FIT_RANGE_GEV[0]) & (masses < FIT_RANGE_GEV[1])]:
        row = int(expected[column] / top * len(bars))
        if row < len(bars):
            bars[row][column] = mark


def _tick(row: int, height: int, top: float) -> tuple[str, int]:
    """Return the label at a row of the vertical axis, and whether there is one."""
    if row == height - 1 or row == height // 2 - 1:
        return f"{top * (row + 1) / height:>{_GUTTER - 2},.0f} ", 1
    return " " * (_GUTTER - 1), 0


def _mass_axis(sample: Sample, per_bin: int, blocks: bool) -> list[str]:
    corner, line, tick = ("└", "─", "┬") if blocks else ("+", "-", "+")
    binning = sample.binning
    columns = binning.bins * per_bin
    marks = [line] * (columns + 1)
    labels = [" "] * (columns + _GUTTER + 4)
    for mass in range(int(binning.low), int(binning.high) + 1, _TICK_GEV):
        column = round((mass - binning.low) / binning.width * per_bin)
        marks[column] = tick
        text = str(mass)
        start = _GUTTER + column - len(text) // 2
        labels[start : start + len(text)] = text
    zero = f"{0:>{_GUTTER - 2}} "
    name = "mass of the muon pair (GeV)"
    return [
        zero + corner + "".join(marks),
        "".join(labels).rstrip(),
        (" " * _GUTTER + name.center(columns)).rstrip(),
    ]
