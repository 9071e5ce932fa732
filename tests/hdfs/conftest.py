"""A NameNode and three DataNodes on loopback, for `make test-hdfs`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path(__file__).with_name("server")
JARS = ROOT / "target" / "hdfs" / "lib"


class Hdfs:
    """A running HDFS."""

    def __init__(self, process: subprocess.Popen[str], port: int, http_port: int) -> None:
        self._process = process
        self.url = f"hdfs://127.0.0.1:{port}"
        self.http = f"127.0.0.1:{http_port}"

    def tell(self, word: str) -> None:
        """Have the server stop or start its first DataNode."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(word, file=self._process.stdin, flush=True)
        assert self._process.stdout.readline().strip() == f"{word} done"


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """HDFS with three DataNodes and two replicas of each block."""
    if "TEST_HDFS" not in os.environ:
        pytest.skip("needs Java and Hadoop's jars: make test-hdfs")
    pytest.importorskip("hdfs_native")
    java = shutil.which("java")
    assert java is not None
    folder = tmp_path_factory.mktemp("hdfs")
    os.environ.setdefault("HADOOP_USER_NAME", "anyone")
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [
                java,
                # WebHDFS answers 500 without it.
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "-Xmx512m",
                "-cp",
                f"{SERVER}:{JARS}/*",
                SERVER / "Server.java",
                folder,
                "3",
                "2",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            assert words[:1] == ["ready"], (folder / "log").read_text()
            yield Hdfs(process, int(words[1]), int(words[2]))
        finally:
            try:
                # The end of its input is the end of the server.
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
