"""Say what a compiler needs: where the headers are, for kernels in C and C++."""

from __future__ import annotations

import argparse
from pathlib import Path

import freestone
from freestone import __version__
from freestone.cli.output import Output, pairs
from freestone.errors import UsageError

__all__ = ["INCLUDE", "configure", "execute"]

INCLUDE = Path(freestone.__file__).parent / "_share" / "include"


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--cflags", action="store_true", help="the options of the compiler")
    parser.add_argument("--includedir", action="store_true", help="the folder of the headers")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Show what was asked for, or all of it."""
    if not INCLUDE.is_dir():
        raise UsageError(f"the headers are not there: {INCLUDE}; install freestone again")
    known = {"version": __version__, "includedir": str(INCLUDE), "cflags": f"-I{INCLUDE}"}
    asked = [name for name in ("cflags", "includedir") if getattr(arguments, name)]
    shown = {name: known[name] for name in asked} or known
    # In Makefiles and command lines the words alone are wanted.
    output.show(shown, lambda: "\n".join(shown.values()) if asked else pairs(shown.items()))
    return 0
