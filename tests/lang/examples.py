"""The example scripts, with arguments for tests."""

import io
from pathlib import Path

from freestone import Cluster
from freestone.lang.front.parse.source import Source
from freestone.lang.run.distributed.running import DistributedRun
from freestone.lang.run.local import Run
from freestone.lang.script import compile_source, read_arguments
from freestone.lang.settings import Settings

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "daphne"
ARGUMENTS = {
    "conjugate_gradient": ("n=20",),
    "pagerank": ("n=50",),
    "components": ("n=100",),
    "linear_regression": ("n=60", "m=4"),
    "kmeans": ("n=80", "m=3", "k=4"),
    "pca": ("n=50", "m=4", "k=2"),
    "gnmf": ("n=20", "m=8", "k=3"),
    "logistic_regression": ("n=120", "m=4", "k=3", "steps=400"),
    "decision_tree": ("n=200", "m=4", "depth=3"),
    "line_simplification": ("n=60", "tolerance=0.1"),
    "random_forest": ("n=200", "m=4", "depth=3", "trees=5"),
}


def example(name: str, settings: Settings, cluster: Cluster | None = None) -> str:
    """Return what an example prints, here or on a cluster."""
    path, out = FOLDER / f"{name}.daph", io.StringIO()
    source, given = Source(path.read_text(), str(path)), read_arguments(ARGUMENTS[name])
    program = compile_source(source, given, settings, path)
    run = Run(settings, out) if cluster is None else DistributedRun(settings, cluster.client, out)
    run.program(program)
    return out.getvalue()
