"""Parquet, Arrow's own files and JSON lines."""

import freestone as fs

people = {"name": ["Noether", "Kepler"], "age": [53, 58]}
for form in ("parquet", "arrow", "jsonl"):
    fs.write(fs.Frame.from_table(people, 1), f"people.{form}")
    assert fs.read(f"people.{form}").compute().to_pydict() == people
