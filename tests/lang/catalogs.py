"""Writes kernel catalogs."""

import json
from pathlib import Path
from typing import Any


def entries(kernels: dict[str, tuple[str, list[str], list[str]]], library: str) -> list[Any]:
    return [
        {
            "opMnemonic": operation,
            "kernelFuncName": name,
            "resTypes": results,
            "argTypes": arguments,
            "backend": "CPP",
            "libPath": library,
        }
        for name, (operation, results, arguments) in kernels.items()
    ]


def write_catalog(path: Path, listed: list[Any]) -> str:
    path.write_text(json.dumps(listed))
    return str(path)
