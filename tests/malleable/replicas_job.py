"""A job that registers values which differ between its ranks, and grows if it has arguments.

Prints, as JSON, the error that each rank got for each value, and the arguments of all ranks.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from freestone import malleable
from freestone.errors import RegistrationError


def main() -> None:
    """Run the job."""
    words = sys.argv[1:]
    found: dict[str, Any] = {}
    with malleable.World(rows=10, targets={2: 2} if words else {}) as world:
        errors = world.replicated("errors", [])
        everyone = world.replicated("words", [])
        rank = 0 if world.is_joining else world.rank
        values: dict[str, Any] = {
            "list": [0, int(rank == 1)],
            "array": np.array([0.0, 0.0, float(rank == 2)]),
            "function": lambda: None,
            # Hashes of texts, and so their order, differ between processes.
            "set": {f"{letter}{letter}" for letter in "abcdefgh"},
        }
        for name, value in ({} if words else values).items():
            try:
                world.replicated(name, value)
            except RegistrationError as error:
                found[name] = world.comm.gather(str(error))
            else:
                found[name] = world.comm.gather("")
        for _ in world.steps(6):
            everyone.value = world.comm.allgather(words)
            errors.value = [record.error for record in world.resizes]
        outcome = {**found, "errors": errors.value, "words": everyone.value}
        is_first = world.rank == 0
    if is_first:
        print(json.dumps(outcome))


main()
