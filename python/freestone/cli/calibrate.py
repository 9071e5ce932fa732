"""Measure from which size on threads pay on this processor, and keep that for it."""

from __future__ import annotations

import argparse
from typing import Any

from freestone.cli.output import Output, pairs

__all__ = ["configure", "described", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command, of which there are none."""


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Measure, also where something is kept."""
    from freestone.lang.run import calibration

    is_busy = calibration.is_busy()
    found = calibration.measured()
    is_kept = calibration.keep(found)
    data = {**described(), "kept": is_kept, "busy": is_busy, "figures": found.figures}
    output.show(data, lambda: _text(data))
    return 0


def described() -> dict[str, Any]:
    """Return what is kept for this processor."""
    from freestone.lang.run import calibration

    found = calibration.kept()
    return {
        "processor": calibration.processor(),
        "file": str(calibration.kept_in()),
        "alone_nbytes": None if found is None else found.alone_nbytes,
    }


def facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was chosen as pairs of texts."""
    from freestone.units import format_nbytes

    nbytes = data["alone_nbytes"]
    if nbytes is None:
        found = "from which size they pay is not measured yet: `freestone calibrate`"
        return [("threads", found)]
    return [("threads", f"one for values of up to {format_nbytes(nbytes)}")]


def _text(data: dict[str, Any]) -> str:
    lines = [("processor", data["processor"]), *facts(data)]
    lines += [
        (name, f"{seconds * 1e6:,.1f} µs") for name, seconds in (data["figures"] or {}).items()
    ]
    lines.append(
        ("kept in", data["file"] if data["kept"] else f"nothing: {data['file']} can't be written")
    )
    if data["busy"]:
        lines.append(("note", "others use the processors: measure again when they do not"))
    return pairs(lines)
