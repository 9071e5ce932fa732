"""Formats, one per file, each a `Format` called ``FORMAT``; other packages offer more."""

from __future__ import annotations

from freestone.io.formats.format import Format
from freestone.io.formats.names import FORMATS, format_of

__all__ = ["FORMATS", "Format", "format_of"]
