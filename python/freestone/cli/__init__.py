"""The command line: one file per command, one interface for what they say."""

from freestone.cli.main import main

__all__ = ["main"]
