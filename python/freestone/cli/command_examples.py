"""Examples of each command, which its help ends with."""

from __future__ import annotations

import argparse

__all__ = ["EXAMPLES", "Layout", "examples_of"]

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": ("run analysis.py", "run --set executors=4 analysis.py --year 2026", "run k.daph n=100"),
    "demo": ("demo --quick", "demo --workers 2 --out figures"),
    "serve": ("serve --name lab --background", "serve --name lab --listen tcp://0.0.0.0:7000"),
    "list": ("list", "list --json"),
    "stop": ("stop lab", "stop lab --timeout 10"),
    "status": ("status", "status --json"),
    "top": ("top", "top --once", "top http://127.0.0.1:8787/1b2e/"),
    "info": ("info", "info --json"),
    "doctor": ("doctor", "doctor --json"),
    "calibrate": ("calibrate", "calibrate --json"),
    "config": ("config --cflags", "config --includedir"),
    "worker": (
        "worker --access lab.access",
        "worker --access lab.access --executors 4 --memory 8GiB",
    ),
    "factory": (
        "factory --max 40 --executors 8 -- --partition=long",
        "factory --max 40 --submit 'qsub -b y -V {command}'",
    ),
    "retire": ("retire worker-3",),
    "access": ("access grant ada ada.access", "access list", "access revoke ada"),
    "cancel": ("cancel training",),
    "report": (
        "report run.json",
        "report run.json -o run.html",
        "report new.json --compare old.json",
    ),
    "trace": ("trace run.json", "trace run.json --perfetto perfetto.json"),
    "malleable": (
        "malleable run cg.toml -o times.json",
        "malleable sweep cg.toml -o sweep --sizes 1,2,4",
        "malleable analyse sweep",
    ),
    "convert": ("convert events.csv events.parquet", "convert 'parts/*.csv' all.npy --columns x,y"),
    "explain": ("explain closed", "explain TaskKilledError", "explain"),
    "examples": ("examples", "examples copy notebooks --to lessons", "examples copy --all"),
    "completion": ("completion bash", "completion zsh"),
}


class Layout(argparse.HelpFormatter):
    """Fills text as argparse does, but leaves examples on lines of their own."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:\n"):
            return text
        return super()._fill_text(text, width, indent)


def examples_of(name: str) -> str:
    """Give a command's examples as the end of its help."""
    return "\n".join(["examples:", *(f"  $ freestone {line}" for line in EXAMPLES[name])])
