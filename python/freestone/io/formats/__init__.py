"""Formats, one per file, each with ``open_dataset(place, **options)`` and ``open_writer(...)``."""

from __future__ import annotations

from freestone.io.formats.names import FORMATS, format_of

__all__ = ["FORMATS", "format_of"]
