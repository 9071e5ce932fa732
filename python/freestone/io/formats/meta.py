"""DAPHNE's `.meta` files: shape and types of the file beside them, as JSON."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from freestone.errors import FormatError, UsageError
from freestone.io.stores import FileLocation

__all__ = ["CODES", "VALUE_TYPES", "Meta", "read_meta", "value_type_of", "without_order"]

CODES = {
    "si8": "i1",
    "si32": "i4",
    "si64": "i8",
    "ui8": "u1",
    "ui32": "u4",
    "ui64": "u8",
    "f32": "f4",
    "f64": "f8",
    "bool": "b1",
    "str": "str",
    # Not DAPHNE's, but NumPy's.
    "si16": "i2",
    "ui16": "u2",
}
"""The code that NumPy has for each of DAPHNE's value types."""

VALUE_TYPES = {code: name for name, code in CODES.items()}


def without_order(dtype: str) -> str:
    """Return kind and bytes of a dtype, such as ``f8``."""
    return dtype.lstrip("<>=|")


def value_type_of(dtype: str) -> str:
    """Return DAPHNE's name of a dtype."""
    code = without_order(dtype)
    if code not in VALUE_TYPES:
        known = " ".join(VALUE_TYPES)
        raise UsageError(
            f"values of dtype {dtype} have no value type; convert them to one of {known}"
        )
    return VALUE_TYPES[code]


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What a `.meta` file says.

    Attributes
    ----------
    rows, columns : int
        The shape.
    value_type : str or None
        The type of all values, of a matrix.
    schema : tuple of (label, type)
        The columns of a frame; empty of a matrix.
    nonzeros : int or None
        How many values a sparse matrix has.
    header : bool or None
        Whether the first line names the columns, where it could be either; freestone's own.
    triples : bool
        Whether lines are row, column and value of a sparse matrix; freestone's own. Else the file's
        shape tells, which that of a dense matrix can be, too.
    separator : str or None
        What separates cells where it is no comma; freestone's own.
    hdfs : str or None
        The path of the segments, when the file is in HDFS.
    arrow_schema : bytes
        The columns of a frame whose types DAPHNE does not have, as Arrow serializes a schema;
        freestone's own.
    """

    rows: int
    columns: int
    value_type: str | None = None
    schema: tuple[tuple[str, str], ...] = field(default=())
    nonzeros: int | None = None
    header: bool | None = None
    triples: bool = False
    separator: str | None = None
    hdfs: str | None = None
    arrow_schema: bytes = b""

    def encode(self) -> bytes:
        """Return the content of the file."""
        data: dict[str, Any] = {"numCols": self.columns, "numRows": self.rows}
        if self.schema:
            data["schema"] = [{"label": name, "valueType": kind} for name, kind in self.schema]
        else:
            data["valueType"] = self.value_type
        if self.nonzeros is not None:
            data["numNonZeros"] = self.nonzeros
        if self.header is not None:
            data["header"] = self.header
        if self.triples:
            data["triples"] = True
        if self.separator is not None:
            data["separator"] = self.separator
        if self.hdfs is not None:
            data["hdfs"] = {"HDFSFilename": self.hdfs, "isHDFS": True}
        if self.arrow_schema:
            data["arrowSchema"] = base64.b64encode(self.arrow_schema).decode()
        return json.dumps(data).encode()


def read_meta(location: FileLocation) -> Meta | None:
    """Read the `.meta` file beside a file; None if there is none.

    Raises
    ------
    FormatError
        When it is not what DAPHNE writes.
    """
    beside = location.beside(".meta")
    if not beside.exists():
        return None
    return parse_meta(beside.url, beside.read_bytes())


def parse_meta(url: str, content: bytes) -> Meta:
    """Read the content of a `.meta` file."""
    try:
        data = json.loads(content)
        # Older versions of DAPHNE wrote a line: rows, columns, and whether there is one type.
        rows, columns = _count(data, "numRows"), _count(data, "numCols")
        fields = data.get("schema", [])
        default = data.get("valueType") or None
        if not isinstance(default, str | None):
            raise ValueError(f"valueType is {default!r}")
        schema = tuple(
            (str(each["label"]), str(each.get("valueType") or default)) for each in fields
        )
        # DAPHNE writes -1 for what it does not know.
        unknown = data.get("numNonZeros") in (None, -1)
        nonzeros = None if unknown else _count(data, "numNonZeros")
        hdfs = data.get("hdfs", {})
        where = str(hdfs["HDFSFilename"]) if hdfs.get("isHDFS") else None
        separator = data.get("separator")
        header = data.get("header")
        if not isinstance(header, bool | None):
            raise ValueError(f"header is {header!r}")
        if separator is not None and not isinstance(separator, str):
            raise ValueError(f"separator is {separator!r}")
        arrow_schema = base64.b64decode(data.get("arrowSchema", ""), validate=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"it is no JSON with numRows, numCols and valueType or schema ({error!r})"
        raise FormatError(url, reason) from None
    for kind in [default] if not schema else [kind for _, kind in schema]:
        if kind is not None and kind not in CODES:
            raise FormatError(url, f"{kind!r} is no value type; there are {' '.join(CODES)}")
    if schema and len(schema) != columns:
        reason = f"numCols is {columns}, and the schema has {len(schema)} columns; correct one"
        raise FormatError(url, reason)
    return Meta(
        rows=rows,
        columns=columns,
        value_type=default,
        schema=schema,
        nonzeros=nonzeros,
        header=header,
        triples=bool(data.get("triples", False)),
        separator=separator,
        hdfs=where,
        arrow_schema=arrow_schema,
    )


def _count(data: dict[str, Any], key: str) -> int:
    value = data[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{key} is {value!r}")
    return value
