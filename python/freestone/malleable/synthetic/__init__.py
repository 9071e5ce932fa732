"""An application that emulates others, to see what resizes cost them (the paper's section 4.1).

It computes and communicates as its configuration says, changes its number of processes, and writes
down how long everything took. ``freestone malleable`` runs it.
"""

from __future__ import annotations

from freestone.malleable.synthetic.reading import read
from freestone.malleable.synthetic.settings import Group, Phase, Settings, Stage

__all__ = ["Group", "Phase", "Settings", "Stage", "read"]
