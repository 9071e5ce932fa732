"""Run by MPI as ``python -m freestone.malleable.synthetic SETTINGS RESULT``, a pickle and JSON."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from freestone.malleable.synthetic.emulation import emulate, write

if __name__ == "__main__":
    # Written by the command line of the same user, in a folder of its own.
    settings = pickle.loads(Path(sys.argv[1]).read_bytes())
    write(emulate(settings), Path(sys.argv[2]))
