"""Files of two years, in folders that say so, and predicates on their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

EVENTS = pa.table(
    {
        "x": pa.array(np.arange(40.0)),
        "n": pa.array([None if i % 7 == 0 else i for i in range(40)], pa.int32()),
        "s": pa.array([f"{i % 4}" for i in range(40)]),
    }
)


def write_years(folder: Path) -> None:
    """Write four files, each of 10 rows in groups of 4, 4 and 2."""
    for number in range(4):
        path = folder / f"year={2023 + number // 2}" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(EVENTS.slice(10 * number, 10), path, row_group_size=4)


YEARS = EVENTS.append_column("year", pa.array([2023] * 20 + [2024] * 20))
PREDICATES = [
    [("year", "==", 2024), ("x", ">", 25.5)],
    [[("s", "==", "1"), ("x", "<", 9)], [("n", ">", 33)]],
    ("s", "in", ["0", "3"]),
    pc.field("n").is_null() & (pc.field("year") == 2023),
    ~(pc.field("x") > 3),
    pc.field("x") < 0,
    pc.scalar(True),
]
