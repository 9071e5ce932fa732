"""Pictures of what examples compute, for `docs/examples.md`.

`python -m tests.docs.gallery` makes them, in `docs/images` or in the folder that it is given.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from examples.data import digits, in_blocks
from examples.insitu.model import block
from examples.insitu.settings import FIELDS, Settings
from examples.kmeans.kmeans import KMeans
from examples.nbody.main import alone

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
SIMPLIFICATION = ROOT / "examples/daphne/line_simplification.daph"
LINE, KEPT = "#8b8178", "#b85c12"


def draw_kmeans(figure: Figure) -> None:
    """Draw the ten centres of images of digits, as images."""
    model = KMeans(10, variant="sequential").fit(in_blocks(digits().points, 8))
    order = np.argsort(-model.counts_)
    for axes, cluster in zip(figure.subplots(2, 5).ravel(), order, strict=True):
        axes.imshow(model.cluster_centers_[cluster].reshape(8, 8), cmap="bone_r")
        axes.set_title(f"{model.counts_[cluster]} images", fontsize=9)
        axes.set_axis_off()


def draw_insitu(figure: Figure) -> None:
    """Draw three of the model's fields at one step, each carried by another wind."""
    side = 344
    settings = Settings(points=side**2)
    for axes, name in zip(figure.subplots(1, 3), ("u", "theta", "tke"), strict=True):
        values = block(settings, member=0, step=20, field=FIELDS.index(name))
        axes.imshow(values.reshape(side, side)[::2, ::2], cmap="terrain", interpolation="nearest")
        axes.set_title(name, fontsize=9)
        axes.set_axis_off()


def draw_nbody(figure: Figure) -> None:
    """Draw stars before they move, and after 100 and 200 steps."""
    for axes, steps in zip(figure.subplots(1, 3), (0, 100, 200), strict=True):
        stars = alone(300, steps, 0.01)
        axes.scatter(stars[:, 0], stars[:, 1], c=stars[:, 2], s=6, cmap="viridis")
        axes.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"after {steps} steps", fontsize=9)


def draw_simplification(figure: Figure) -> None:
    """Draw a line, and the points of it that stay."""
    script = SIMPLIFICATION.read_text(encoding="utf-8")
    every = run_script(script.partition("kept =")[0] + "print(cbind(x, y));\n")
    kept = run_script(script)
    axes = figure.subplots()
    axes.plot(*every.T, ".", color=LINE, markersize=4, label=f"{len(every)} points")
    axes.plot(*kept.T, "o-", color=KEPT, markersize=4, linewidth=1.2, label=f"{len(kept)} stay")
    axes.legend(loc="lower left", frameon=False, fontsize=9, ncols=2)
    axes.set_ylim(-1.6, 1.3)
    axes.spines[["top", "right"]].set_visible(False)


def run_script(text: str) -> NDArray[np.float64]:
    """Run a script in DaphneDSL, and return the matrix that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.daph")
        script.write_text(text, encoding="utf-8")
        # A script refuses an argument that it does not read.
        given = [word for word in ("n=200", "tolerance=0.12") if f"${word.split('=')[0]}" in text]
        words = [sys.executable, "-m", "freestone", "run", str(script), *given]
        printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return np.loadtxt(printed.splitlines()[1:])


PICTURES: dict[str, tuple[Callable[[Figure], None], tuple[float, float]]] = {
    "example-insitu": (draw_insitu, (7.0, 2.6)),
    "example-kmeans": (draw_kmeans, (7.0, 3.0)),
    "example-nbody": (draw_nbody, (7.0, 2.6)),
    "example-simplification": (draw_simplification, (7.0, 2.6)),
}


def draw(folder: Path) -> None:
    """Write all pictures into a folder."""
    for name, (fill, size) in PICTURES.items():
        figure = Figure(figsize=size, layout="constrained")
        fill(figure)
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": ""})


if __name__ == "__main__":
    draw(Path(*sys.argv[1:]) if sys.argv[1:] else IMAGES)
