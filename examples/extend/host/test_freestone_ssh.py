"""The host passes freestone's kit, with a shell that stays on this machine."""

import sys

import pytest
from freestone_ssh import SshHost

import freestone as fs
from freestone.errors import ClusterStartError, UsageError
from freestone.testing import check_host

# It takes the name of a machine, as ssh does, and runs the command here.
HERE = ("sh", "-c", 'shift; exec "$@"', "sh")


def test_the_host_passes_the_kit() -> None:
    check_host(lambda: SshHost(["localhost", "localhost"], HERE, sys.executable), workers=2)


def test_a_cluster_is_opened_by_name() -> None:
    options = {"machines": ["localhost"], "shell": HERE, "python": sys.executable}
    with fs.Cluster.on("ssh", options, executors=1, memory="64MiB", disk="64MiB") as cluster:
        assert cluster.submit(pow, 2, 10).result(60) == 1024


def test_no_machines_are_refused() -> None:
    with pytest.raises(UsageError, match="name at least one"):
        fs.Cluster.on("ssh", {"machines": []})


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UsageError, match="options: got an unexpected keyword argument 'port'"):
        fs.Cluster.on("ssh", {"machines": ["localhost"], "port": 22})


def test_a_command_that_fails_is_no_cluster() -> None:
    fails = {"machines": ["typo"], "shell": ("sh", "-c", "exit 255", "sh")}
    with pytest.raises(ClusterStartError, match=r"ended with status \[255\]"):
        fs.Cluster.on("ssh", fails, executors=1, memory="64MiB", disk="64MiB")
