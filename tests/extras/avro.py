"""Avro."""

import freestone as fs

fs.write(fs.Frame.from_table({"age": [53, 58]}, 1), "people.avro")
assert fs.read("people.avro").compute().to_pydict() == {"age": [53, 58]}
