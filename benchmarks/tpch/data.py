"""TPC-H's tables, made by `tpchgen-cli`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["TABLES", "generate", "load"]

TABLES = (
    "customer",
    "lineitem",
    "nation",
    "orders",
    "part",
    "partsupp",
    "region",
    "supplier",
)


def generate(folder: Path, scale: float) -> None:
    """Write the tables as Parquet files, unless they are there."""
    if all((folder / f"{name}.parquet").is_file() for name in TABLES):
        return
    folder.mkdir(parents=True, exist_ok=True)
    program = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(program), "parquet", "-s", f"{scale:g}", "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def load(folder: Path) -> dict[str, Any]:
    """Read the tables into polars, with amounts of money as floats."""
    import polars as pl

    found = {name: pl.read_parquet(folder / f"{name}.parquet") for name in TABLES}
    return {name: table.cast({pl.Decimal: pl.Float64}) for name, table in found.items()}
