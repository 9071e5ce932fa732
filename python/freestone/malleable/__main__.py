"""What a spawned process runs: the job's own program, which then joins the job.

Run by MPI as ``python -m freestone.malleable WORDS``: see `freestone.malleable.spawning.packed`.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback

from freestone.malleable.joining_rank import meet
from freestone.malleable.spawning import unpacked

__all__ = ["main"]


def main(words: list[str]) -> None:
    """Meet the root of the sources, then run the program; end in good order if it fails.

    An exit status other than 0 would make the launcher end the whole job.
    """
    joining_rank = meet()
    try:
        _run(words)
    except BaseException as error:
        is_exit = isinstance(error, SystemExit)
        if joining_rank.has_joined or (
            joining_rank.is_ready and (is_exit or joining_rank.guard is None)
        ):
            raise
        if not is_exit:
            traceback.print_exc()
        if joining_rank.is_ready:
            joining_rank.leave()
        joining_rank.refuse(f"{type(error).__name__}: {error}")
    if not joining_rank.is_ready:
        joining_rank.refuse("the program ended without a malleable.World")


def _run(words: list[str]) -> None:
    kind, name, *arguments = words
    sys.argv = [name, *arguments]
    if kind == "module":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(name))
        runpy.run_path(name, run_name="__main__")


if __name__ == "__main__":
    main(unpacked(sys.argv[1]))
