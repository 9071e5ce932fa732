"""Changes of a file: of any bytes, and of what a format has in it."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Mutation", "any_bytes", "footer", "json_values", "numbers", "varints"]

Mutation = Callable[[random.Random, bytes], bytes]

TOKENS = [b'"', b"\n", b",", b"nan", b"-1", b"9" * 25, b"\xff", b"{", b"}", b"%%", b"\0" * 8]
LIMITS = sorted(
    {0, 1, 2, 3, 7, 100, 255, 256, 1000, 65535, 65536, 10**6, 10**9, 10**12}
    | {2**power + more for power in (7, 15, 31, 32, 53, 62, 63, 64) for more in (-1, 0, 1)}
)
# What a value of a JSON file is changed into.
VALUES: list[Any] = [
    *[None, True, False, 0, 1, -1, 3, 2**31, 2**53, 2**63, 10**30, 0.5, -0.0, 1e308],
    *["", "a", "f8", "<f8", "NaN", "é", "\0", "0x7ff8000000000000", [], [0], [-1], [2**40]],
    *[[1, 1, 1], ["a"], {}, {"a": 1}, {"name": "bytes"}, {"name": "x", "configuration": {}}],
]


def any_bytes(dice: random.Random, sample: bytes) -> bytes:
    """Change bytes, cut off the end, insert, or leave out."""
    content = bytearray(sample)
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randint(0, len(content))
        kind = dice.randint(0, 3)
        if kind == 0 and at < len(content):
            content[at] = dice.randint(0, 255)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            content[at:at] = dice.choice(TOKENS)
        else:
            del content[at : at + dice.randint(0, 8)]
    return bytes(content)


def numbers(dice: random.Random, sample: bytes) -> bytes:
    """Put numbers at the edge of a range over some bytes, flip bits, and copy pieces; same size."""
    content = bytearray(sample)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(len(content))
        kind = dice.randint(0, 5)
        if kind == 0:
            content[at] ^= 1 << dice.randint(0, 7)
        elif kind == 1:
            content[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            other, length = dice.randrange(len(content)), dice.randint(1, 16)
            piece = content[other : other + length][: len(content) - at]
            content[at : at + len(piece)] = piece
        else:
            size = dice.choice((1, 2, 4, 8))
            value = dice.choice([*LIMITS, len(content), len(content) - at]) * dice.choice((1, -1))
            # Most numbers of a file lie where their size divides the place.
            at = at // size * size if dice.random() < 0.7 else at
            value %= 1 << 8 * size
            packed = value.to_bytes(size, dice.choice(("little", "big")))
            content[at : at + size] = packed[: len(content) - at]
    return bytes(content)


def varints(dice: random.Random, sample: bytes) -> bytes:
    """Change numbers of variable length, as Thrift has them, and leave out or repeat bytes."""
    content = bytearray(sample)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randint(0, len(content))
        kind = dice.randint(0, 3)
        if kind < 2:
            run = content[at : at + 10]
            length = next((n for n, byte in enumerate(run, 1) if byte < 0x80), 1)
            content[at : at + length] = _varint(dice.choice(LIMITS))
        elif kind == 2:
            del content[at : at + dice.randint(1, 4)]
        else:
            content[at:at] = content[at : at + dice.randint(1, 8)]
    return bytes(content)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def footer(change: Mutation, magic: bytes) -> Mutation:
    """Change what the end of a file says is its footer, and say how long that is now.

    So changes get past the first check of a file that ends in ``footer, its length, magic``.
    """
    tail = 4 + len(magic)

    def changed(dice: random.Random, sample: bytes) -> bytes:
        (length,) = struct.unpack_from("<I", sample, len(sample) - tail)
        begin = len(sample) - tail - length
        made = change(dice, sample[begin:-tail])
        return sample[:begin] + made + struct.pack("<I", len(made)) + magic

    return changed


def json_values(dice: random.Random, sample: bytes) -> bytes:
    """Change values of a JSON file, leave out, rename or repeat what it has; now and then bytes."""
    if dice.random() < 0.1:
        return any_bytes(dice, sample)
    values = json.loads(sample)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        places = list(_places(values))
        if not places:
            break
        holder, key = dice.choice(places)
        kind = dice.randint(0, 5)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            holder[key] = copy.deepcopy(dice.choice(places)[0])
        elif kind == 2 and isinstance(holder, dict):
            holder[dice.choice([key + "s", key.upper(), "", "name"])] = holder.pop(key)
        elif kind == 3:
            holder[key] = [holder[key]]
        else:
            holder[key] = copy.deepcopy(dice.choice([*VALUES, *LIMITS]))
    return json.dumps(values).encode()


def _places(values: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        values
        if isinstance(values, dict)
        else range(len(values))
        if isinstance(values, list)
        else ()
    )
    for key in keys:
        yield values, key
        yield from _places(values[key])
