"""A job of two ranks that becomes one of three."""

import subprocess
import sys
from pathlib import Path

JOB = """
import numpy as np
from freestone import malleable

with malleable.World(rows=12, targets={2: 3}) as world:
    x = world.variable("x", lambda start, stop: np.zeros(stop - start))
    for step in world.steps(8):
        x.local[...] += 1
    assert world.comm.allreduce(float(x.local.sum())) == 96
    assert world.size == 3
"""

Path("job.py").write_text(JOB)
mpiexec = Path(sys.executable).with_name("mpiexec")
subprocess.run([mpiexec, "-n", "2", sys.executable, "-m", "mpi4py", "job.py"], check=True)
subprocess.run([sys.executable, "-m", "freestone", "malleable", "--help"], check=True)
