"""A job of several loops, with work before and between them, that is resized from 2 ranks to 4.

Words: the method; when the first loop ends ("spawning", "moving": while the resize is at that
stage; "after" it); and what goes on between the loops:

- "once", "guard": work that is written as it has to be
- "touch", "register", "differ": what a joining rank can't do, what changes the plan, another way
"""

from __future__ import annotations

import sys

import numpy as np

from freestone import malleable

ROWS = 100
METHOD, STAGE, BETWEEN = sys.argv[1:]


def is_over(world: malleable.World) -> bool:
    """Tell whether the first loop ends at this step."""
    resize = world._resize
    if STAGE == "after":
        return len(world.resizes) > 0
    return resize is not None and (STAGE == "spawning" or resize.transfer is not None)


def main() -> None:
    """Run the job, and compare it with what it has counted."""
    settings = {"method": METHOD, "share": False, "timeout_s": 60}
    with malleable.World(rows=ROWS, targets={2: 4}, **settings) as world:
        base = world.constant("base", lambda a, b: np.arange(a, b, dtype=float))
        x = world.variable("x", lambda a, b: np.zeros(b - a))
        total = world.once(lambda: world.comm.allreduce(float(base.local.sum())))
        want = world.replicated("want", 0.0)
        others = [x]
        for _ in world.steps(1_000_000):
            x.local[...] += total
            want.value += total
            if is_over(world):
                break
        between(world, x, want, others)
        for step in world.steps(1_000_000):
            x.local += base.local - base.local + 1
            want.value += 1
            if step >= 3 and any(not record.error.startswith("called") for record in world.resizes):
                break
        values = world.comm.gather(np.stack([array.local for array in others]))
    if world.rank == 0:
        found = np.concatenate(values, axis=1)
        is_right = np.array_equal(found[0], np.full(ROWS, want.value)) and np.all(found[1:] == 5)
        print(world.size, is_right, [record.error for record in world.resizes])


def between(
    world: malleable.World,
    x: malleable.Array,
    want: malleable.Replicated[float],
    others: list[malleable.Array],
) -> None:
    """Double all values."""
    if BETWEEN == "touch":
        x.local *= 2
        want.value *= 2
    elif BETWEEN == "differ" and world.is_joining:
        world.once(lambda: None)
    elif BETWEEN == "guard":
        if not world.is_joining:
            x.local *= 2
            want.value *= 2
    else:

        @world.once
        def doubled() -> None:
            x.local *= 2
            want.value *= 2

    if BETWEEN == "register":
        others.append(world.variable("y", lambda a, b: np.full(b - a, 5.0)))


if __name__ == "__main__":
    main()
