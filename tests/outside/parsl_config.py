"""What Parsl's own tests run on: a cluster with two executors."""

from __future__ import annotations

from parsl.config import Config

import freestone as fs
from freestone.compat.parsl import FreestoneExecutor

_cluster = fs.Cluster(executors=2, memory="256MiB", disk="512MiB")
config = Config(executors=[FreestoneExecutor(_cluster)])
