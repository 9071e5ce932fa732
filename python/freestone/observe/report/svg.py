"""Figures as SVG, drawn without any library so that a page holds all it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from freestone.units import format_seconds

__all__ = ["bars", "heat", "legend", "lines", "moments", "shares"]

Floats = NDArray[np.float64]
WIDTH, HEIGHT = 860, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 16, 12, 40
COLOURS = ("#1f77b4", "#e07b00", "#2a9d5c", "#c0392b", "#7d5ba6", "#8c6d46", "#d36ba6", "#607d8b")


def lines(
    x: Sequence[Floats],
    y: Sequence[Floats],
    names: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    form: Callable[[float], str],
    x_most: float,
    base: int = 10,
) -> str:
    """Draw lines over time, with a legend; ticks are round in a base (1024 for bytes)."""
    highest = max((float(values.max(initial=0)) for values in y), default=0) or 1
    ticks = _ticks(highest, base)
    y_most = max(highest, ticks[-1])
    drawn = [_axes(x_most, ticks, y_most, x_label, y_label, form)]
    for number, (across, up) in enumerate(zip(x, y, strict=True)):
        points = zip(_across(across, x_most), _up(up, y_most), strict=True)
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        colour = COLOURS[number % len(COLOURS)]
        name = f"<title>{escape(names[number])}</title>"
        drawn.append(f'<polyline points="{path}" stroke="{colour}" class="line">{name}</polyline>')
    return _figure(drawn, HEIGHT, f"{y_label} by {x_label}") + _legend(names)


def bars(edges: Floats, counts: Sequence[Floats], names: Sequence[str], *, x_label: str) -> str:
    """Draw stacked bars over a logarithmic axis of seconds, with a legend."""
    total = np.sum(counts, axis=0) if len(counts) else np.zeros(len(edges) - 1)
    ticks = _ticks(float(total.max(initial=0)) or 1)
    most = max(float(total.max(initial=0)), ticks[-1])
    low, high = math.log10(edges[0]), math.log10(edges[-1])
    place = _LEFT + (np.log10(edges) - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)
    drawn = [_axes(0, ticks, most, x_label, "attempts", lambda value: f"{value:,.3g}")]
    for power in range(math.ceil(low), math.floor(high) + 1):
        across = _LEFT + (power - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)
        drawn.append(_tick(across, _seconds(10.0**power)))
    base = np.zeros(len(edges) - 1)
    for number, values in enumerate(counts):
        for bin_, value in enumerate(values):
            if value == 0:
                continue
            top, bottom = _up(np.array([base[bin_] + value, base[bin_]]), most)
            wide = place[bin_ + 1] - place[bin_]
            about = f"{escape(names[number])}: {value:,.0f} of {_seconds(edges[bin_])} and more"
            drawn.append(
                f'<rect x="{place[bin_]:.1f}" y="{top:.1f}" width="{wide:.1f}" '
                f'height="{bottom - top:.1f}" fill="{COLOURS[number % len(COLOURS)]}">'
                f"<title>{about}</title></rect>"
            )
        base = base + values
    return _figure(drawn, HEIGHT, f"attempts by {x_label}") + _legend(names)


def heat(
    cells: Floats,
    rows: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    columns: Sequence[str] = (),
    x_most: float = 0,
    tell: Callable[[int, int], str],
    most: float,
) -> str:
    """Draw a table of amounts as colours, from nothing to `most`; NaN is left out."""
    count, across = cells.shape
    step = max(4.0, min(22.0, 400.0 / max(count, 1)))
    height = _TOP + step * count + _BOTTOM
    wide = (WIDTH - _LEFT - _RIGHT) / max(across, 1)
    drawn = []
    for row in range(count):
        for column in range(across):
            value = cells[row, column]
            if not np.isfinite(value):
                continue
            part = min(1.0, value / most) if most else 0.0
            drawn.append(
                f'<rect x="{_LEFT + column * wide:.2f}" y="{_TOP + row * step:.1f}" '
                f'width="{wide + 0.05:.2f}" height="{step - 0.5:.1f}" class="cell" '
                f'fill-opacity="{0.06 + 0.94 * part:.2f}">'
                f"<title>{escape(tell(row, column))}</title></rect>"
            )
    every = max(1, math.ceil(12 / step))
    for row in range(0, count, every):
        at = _TOP + (row + 0.5) * step
        drawn.append(
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" class="end">{escape(rows[row])}</text>'
        )
    ground = _TOP + step * count
    if columns:
        room = max(1, math.ceil(64 / wide))
        for column in range(0, len(columns), room):
            middle = _LEFT + (column + 0.5) * wide
            drawn.append(_tick(middle, columns[column], ground))
    else:
        drawn += [_tick(at, label, ground) for at, label in _times(x_most)]
    drawn.append(_label(x_label, height))
    drawn.append(f'<text x="4" y="{_TOP - 2}" class="small">{escape(y_label)}</text>')
    return _figure(drawn, height, f"{count:,} rows by {x_label}")


def _axes(
    x_most: float,
    ticks: Sequence[float],
    y_most: float,
    x_label: str,
    y_label: str,
    form: Callable[[float], str],
) -> str:
    drawn = [_tick(at, label) for at, label in _times(x_most)] if x_most else []
    for value in ticks:
        (at,) = _up(np.array([value]), y_most)
        drawn.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" class="end">{form(value)}</text>')
    drawn.append(_label(x_label, HEIGHT))
    middle = HEIGHT / 2
    drawn.append(
        f'<text x="12" y="{middle}" class="mid" transform="rotate(-90 12 {middle})">'
        f"{escape(y_label)}</text>"
    )
    return "".join(drawn)


def _tick(place: float, text: str, ground: float = HEIGHT - _BOTTOM) -> str:
    return f'<text x="{place:.1f}" y="{ground + 15:.1f}" class="mid">{escape(text)}</text>'


def _label(text: str, height: float) -> str:
    return f'<text x="{WIDTH / 2}" y="{height - 6:.1f}" class="mid">{escape(text)}</text>'


def _legend(names: Sequence[str]) -> str:
    colours = (COLOURS[number % len(COLOURS)] for number in range(len(names)))
    return legend(zip(names, colours, strict=True))


def shares(parts: Mapping[str, float]) -> str:
    """Draw parts of a time, in seconds, as one bar; nothing if there is none."""
    total = sum(parts.values())
    if total <= 0:
        return ""
    bar, entries = [], []
    for colour, (name, seconds) in zip(COLOURS, parts.items(), strict=False):
        part = seconds / total
        about = f"{name} {part:.0%} ({format_seconds(seconds)})"
        bar.append(
            f'<div style="flex:{part:.4f};background:{colour}" title="{escape(about)}"></div>'
        )
        entries.append((about, colour))
    return f'<div class="bar">{"".join(bar)}</div>{legend(entries)}'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return names with their colours."""
    shown = [
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
        for name, colour in entries
    ]
    return f'<p class="legend">{" ".join(shown)}</p>'


def _figure(drawn: Sequence[str], height: float, label: str) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}">'
    return f"{head}{''.join(drawn)}</svg>"


def _across(values: Floats, most: float) -> Floats:
    return _LEFT + values / most * (WIDTH - _LEFT - _RIGHT)


def _up(values: Floats, most: float) -> Floats:
    return HEIGHT - _BOTTOM - values / most * (HEIGHT - _TOP - _BOTTOM)


def _ticks(most: float, base: int = 10) -> list[float]:
    """Return four to ten round values from 0 to at most a step beyond `most`."""
    unit = float(base) ** math.floor(math.log(most, base))
    steps = [1, 2, 5] if base == 10 else [2**power for power in range(10)]
    every = [unit / base * step for step in steps] + [unit * step for step in steps]
    step = next((step for step in every if most / step <= 6), every[-1])
    return [step * number for number in range(math.ceil(most / step) + 1)]


def _times(most: float) -> list[tuple[float, str]]:
    """Return where round times stand, and how they are told."""
    scale = (WIDTH - _LEFT - _RIGHT) / most
    return [(_LEFT + at * scale, _seconds(at)) for at in _ticks(most) if at <= most]


def moments(first_s: float, last_s: float) -> list[tuple[float, str]]:
    """Return round times in a span, and how they are written; so many digits that they differ."""
    step = _ticks(last_s - first_s)[1]
    scale, unit = next(
        one for one in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if step >= one[0] or one[0] == 1e-6
    )
    digits = max(0, -math.floor(math.log10(step / scale) + 1e-9))
    numbers = range(math.ceil(first_s / step - 1e-9), math.floor(last_s / step + 1e-9) + 1)
    return [(number * step, f"{number * step / scale:,.{digits}f} {unit}") for number in numbers]


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale or unit == "µs":
            return f"{value / scale:.3g} {unit}" if value else "0"
    return "0"
