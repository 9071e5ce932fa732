"""Each application runs by itself, and by the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FREESTONE = "import sys; from freestone.cli import main; sys.exit(main())"
ROOT = Path(__file__).parents[2]
SMALL = {
    "histogram": ["--points", "20000", "--blocks", "9"],
    "kmeans": ["--points", "4000", "--blocks", "9", "--iterations", "3"],
    "cascade_svm": ["--data", "cancer", "--blocks", "5"],
    "knn": ["--points", "4000", "--queries", "200", "--blocks", "9"],
}
AGREES = {
    "histogram": "as numpy.histogramdd says: True",
    "kmeans": "passes: 3",
    "cascade_svm": "predicted as one SVC does: 100.00%",
    "knn": "the same neighbours: 100.00%",
}


def run(*words: str) -> str:
    env = {name: value for name, value in os.environ.items() if "FREESTONE_" not in name}
    ran = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("name", SMALL)
def test_it_explains_itself(name):
    assert "--variant" in run(f"examples/{name}/main.py", "--help")


@pytest.mark.parametrize("name", SMALL)
def test_it_runs_in_one_process(name):
    script = f"examples/{name}/main.py"
    assert AGREES[name] in run(script, "--variant", "sequential", *SMALL[name])


@pytest.mark.parametrize("name", SMALL)
def test_the_command_line_runs_it(name):
    words = ["-c", FREESTONE, "run", "--set", "workers=2", f"examples/{name}/main.py"]
    assert AGREES[name] in run(*words, *SMALL[name])
