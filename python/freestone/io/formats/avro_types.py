"""Types of Avro as Arrow has them, and back.

Dates, times and timestamps are whole numbers in an Avro file: its library would make an object of
each. They are read and written as the numbers that they are, and Arrow gives them their type: there
are two types for a column, of its numbers (`stored`) and of what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from freestone.io.formats.tables import repeated

__all__ = ["Unfit", "arrow_type", "avro_fields", "plain", "stored", "takes_no_bytes"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
LOGICAL = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    **{
        ("long", f"{prefix}timestamp-{name}"): pa.timestamp(unit, zone)
        for prefix, zone in (("", "UTC"), ("local-", None))
        for name, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}
WRITTEN: dict[Any, Any] = {
    **{kind: name for name, kind in PRIMITIVES.items()},
    **dict.fromkeys((pa.int8(), pa.int16(), pa.uint8(), pa.uint16()), "int"),
    pa.uint32(): "long",
    pa.float16(): "float",
    pa.large_string(): "string",
    pa.large_binary(): "bytes",
    **{kind: {"type": base, "logicalType": name} for (base, name), kind in LOGICAL.items()},
}


class Unfit(Exception):  # noqa: N818 (an answer, of which the caller makes an error with a place)
    """A type that the other side has no form for; its text says which, and why."""


def arrow_type(schema: Any) -> Any:
    """Return the Arrow type of a schema of Avro that its library has parsed.

    Raises
    ------
    Unfit
        For unions of several types, types that contain themselves, and lists whose values take no
        bytes, of which a few bytes can say that there are any number.
    """
    return _Reading().type_of(schema)


def takes_no_bytes(schema: Any) -> bool:
    """Tell whether values of a schema that `arrow_type` takes are of no bytes in a file."""
    reading = _Reading()
    reading.type_of(schema)
    return reading.is_empty(schema)


class _Reading:
    """What the names in a schema mean, as far as it was read."""

    def __init__(self) -> None:
        self.named: dict[str, Any] = {}
        self.empty: dict[str, bool] = {}

    def type_of(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return self._of_union(schema)
        if isinstance(schema, str):
            schema = {"type": schema}
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.type_of(kind)
        if kind in PRIMITIVES:
            return _of_primitive(kind, schema)
        if kind in self.named:
            if self.named[kind] is None:
                raise Unfit(f"the record {kind!r} contains itself, for which Arrow has no type")
            return self.named[kind]
        return self._of_compound(kind, schema)

    def _of_union(self, schema: list[Any]) -> Any:
        others = [one for one in schema if one != "null" and one != {"type": "null"}]
        if len(others) > 1:
            names = [one if isinstance(one, str) else one.get("type") for one in others]
            raise Unfit(f"it is a union of {', '.join(map(str, names))}: a column has one type")
        return self.type_of(others[0]) if others else pa.null()

    def _of_compound(self, kind: str, schema: dict[str, Any]) -> Any:
        if kind == "array":
            return pa.list_(self._filled(schema["items"]))
        if kind == "map":
            return pa.map_(pa.string(), self.type_of(schema["values"]))
        name = schema.get("name", kind)
        self.named[name] = None
        if kind == "fixed":
            made = _decimal(schema) or _fixed(schema["size"])
        elif kind == "enum":
            made = pa.string()
        elif kind in ("record", "error"):
            fields = schema["fields"]
            made = pa.struct([pa.field(one["name"], self.type_of(one["type"])) for one in fields])
        else:
            raise Unfit(f"its type {kind!r} is none of Avro's")
        self.named[name], self.empty[name] = made, self.is_empty(schema)
        return made

    def _filled(self, items: Any) -> Any:
        kind = self.type_of(items)
        if self.is_empty(items):
            raise Unfit("it is a list of values that take no bytes")
        return kind

    def is_empty(self, schema: Any) -> bool:
        """Tell whether values take no bytes; those of a union take one, which says their type."""
        if not isinstance(schema, dict):
            return schema == "null" or (isinstance(schema, str) and self.empty.get(schema, False))
        kind = schema["type"]
        if kind == "fixed":
            return bool(schema["size"] == 0)
        if kind in ("record", "error"):
            return all(self.is_empty(one["type"]) for one in schema["fields"])
        return self.is_empty(kind)


def _of_primitive(kind: str, schema: dict[str, Any]) -> Any:
    if kind == "bytes" and (found := _decimal(schema)) is not None:
        return found
    return LOGICAL.get((kind, schema.get("logicalType", "")), PRIMITIVES[kind])


def _decimal(schema: dict[str, Any]) -> Any:
    if schema.get("logicalType") != "decimal":
        return None
    precision, scale = schema.get("precision", 0), schema.get("scale", 0)
    if not 1 <= precision <= 76:
        raise Unfit(f"it has decimals of {precision} digits, and Arrow has 1 to 76")
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _fixed(nbytes: Any) -> Any:
    if not isinstance(nbytes, int) or not 0 <= nbytes < 1 << 31:
        raise Unfit(f"it has values of {nbytes!r} bytes")
    return pa.binary(nbytes)


def plain(schema: Any) -> Any:
    """Return a schema of Avro in which dates, times and the like are the numbers in the file.

    Decimals stay: they are bytes, which only the library makes numbers of.
    """
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {} if schema.get("logicalType") == "decimal" else {"logicalType"}
    inner = {"type", "items", "values"}
    made = {key: plain(one) if key in inner else one for key, one in schema.items()}
    if "fields" in made:
        made["fields"] = [plain(one) for one in made["fields"]]
    return {key: one for key, one in made.items() if key not in kept}


def stored(kind: Any) -> Any:
    """Return the Arrow type of what is stored of values of a type: numbers for times."""
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_dictionary(kind):
        return stored(kind.value_type)
    return _with_inner(kind, stored)


def _with_inner(kind: Any, change: Callable[[Any], Any]) -> Any:
    """Return a type of lists, maps or records with the types inside it changed."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(change(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), change(kind.item_type))
    if pa.types.is_struct(kind):
        inner = [kind.field(number) for number in range(kind.num_fields)]
        return pa.struct([pa.field(one.name, change(one.type)) for one in inner])
    return kind


def avro_fields(columns: list[Any], path: str = "") -> list[dict[str, Any]]:
    """Return the fields of a record of Avro, whose values may all be missing.

    Parameters
    ----------
    columns
        Fields of Arrow.
    path
        What their types are called after: where they are, with a dot behind it.

    Raises
    ------
    Unfit
        For names and types that Avro does not have.
    """
    for one in columns:
        if not NAME.fullmatch(one.name):
            raise Unfit(
                f"Avro's names have letters, digits and _ only, and begin with no digit: "
                f"{one.name!r} is none; rename it"
            )
    twice = repeated([one.name for one in columns])
    if twice is not None:
        raise Unfit(f"two columns are called {path + twice!r}, and one would be lost; rename one")
    return [{"name": one.name, "type": _optional(one.type, path + one.name)} for one in columns]


def _avro_type(kind: Any, name: str) -> Any:
    """Return the schema of Avro of an Arrow type; `name` is that of its column."""
    if kind in WRITTEN:
        return WRITTEN[kind]
    if pa.types.is_dictionary(kind):
        return _avro_type(kind.value_type, name)
    if pa.types.is_decimal(kind):
        digits = {"precision": kind.precision, "scale": kind.scale}
        if kind.scale < 0:
            raise Unfit(f"column {name!r} has type {kind}, and Avro's decimals no negative scale")
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if pa.types.is_fixed_size_binary(kind):
        return {"type": "fixed", "name": f"{name}.bytes", "size": kind.byte_width}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": _optional(kind.value_type, name)}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": _optional(kind.item_type, name)}
    if pa.types.is_struct(kind):
        fields = avro_fields([kind.field(at) for at in range(kind.num_fields)], f"{name}.")
        return {"type": "record", "name": f"{name}.row", "fields": fields}
    raise Unfit(f"column {name!r} has type {kind}, for which Avro has no form{_hint(kind)}")


def _hint(kind: Any) -> str:
    """Say to which type of Avro a column can be cast, where one has the same values."""
    types = pa.types
    if types.is_timestamp(kind):
        unit = "ms" if kind.unit == "s" else kind.unit
        return f"; cast it to {pa.timestamp(unit, 'UTC' if kind.tz else None)}"
    if types.is_fixed_size_list(kind) or types.is_list_view(kind):
        return f"; cast it to {pa.list_(kind.value_type)}"
    others = {
        pa.date64(): pa.date32(),
        pa.time32("s"): pa.time32("ms"),
        pa.time64("ns"): pa.time64("us"),
        pa.uint64(): pa.decimal128(20),
        pa.string_view(): pa.string(),
        pa.binary_view(): pa.binary(),
    }
    if types.is_duration(kind):
        return f"; cast it to {pa.int64()}"
    return f"; cast it to {others[kind]}" if kind in others else ", nor a type to cast it to"


def _optional(kind: Any, name: str) -> Any:
    made = _avro_type(kind, name)
    # A union takes a byte, so that a damaged file can't say that there is any number of them.
    return ["null"] if made == "null" else ["null", made]
