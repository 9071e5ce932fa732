"""Growing into idle nodes of Slurm, and making room for jobs that wait.

An unmodified Slurm can't change a running job's nodes at will, so each step of growth is a
companion: a second job that only holds a node, and that is cancelled to give it back.

| module | what it does |
| --- | --- |
| `source` | carries out decisions, and logs them |
| `deciding` | from what Slurm reports to a decision, without calling it |
| `queue` | calls Slurm's commands and reads what they print |
"""

from freestone.malleable.slurm.source import Slurm

__all__ = ["Slurm"]
