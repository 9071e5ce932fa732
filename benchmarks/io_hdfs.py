"""Measure how fast files in HDFS are read and written.

A real NameNode with one to three DataNodes on loopback, in one JVM; CSV and DBDF of the paper's
first shape, as one file read by this program, and as DAPHNE's segments read and written by two
workers. The client that moves the bytes, hdfs-native, reads and writes the same bytes alone: that
is the limit. A read takes a tenth of a second, so each round has several by this program and by the
client in turn; the first ones are not counted, in which the servers compile what they run.
`make test-hdfs` fetches the server that this needs, once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import freestone as fs
from benchmarks import common, plots
from benchmarks.io import SHAPES, seconds, warm, workers
from benchmarks.raw import STEP
from freestone.io import open_dataset

QUESTION = "How fast are files in HDFS read and written?"
SERVER = common.ROOT / "tests" / "hdfs" / "server"
JARS = common.ROOT / "target" / "hdfs" / "lib"
BLOCK = 32 << 20
# DataNodes and replicas.
SITES = {"1 node": (1, 1), "2 nodes": (2, 1), "3 nodes": (3, 1), "3 nodes, 3 replicas": (3, 3)}
OWN, TWO, CLIENT = "freestone", "freestone, 2 workers", "hdfs-native"
SUBJECTS = (OWN, CLIENT, TWO)
# By each of two in turn, in a round.
READS = 7
WAIT_S = 60.0


@contextlib.contextmanager
def hdfs(nodes: int, replicas: int) -> Iterator[str]:
    """Run a NameNode and DataNodes; their URL."""
    java = shutil.which("java")
    if java is None or not JARS.is_dir():
        raise SystemExit("this needs Java and Hadoop's jars: make test-hdfs fetches them")
    with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
        open_module = "--add-opens=java.base/java.lang=ALL-UNNAMED"
        words: list[Any] = [
            java,
            open_module,
            "-Xmx1g",
            "-cp",
            f"{SERVER}:{JARS}/*",
            SERVER / "Server.java",
        ]
        settings = [folder, str(nodes), str(replicas), str(BLOCK)]
        process = subprocess.Popen(
            [*words, *settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            reported = process.stdout.readline().split()
            if reported[:1] != ["ready"]:
                raise SystemExit("HDFS did not start")
            os.environ["HDFS_HTTP_ADDRESS"] = f"127.0.0.1:{reported[2]}"
            yield f"hdfs://127.0.0.1:{reported[1]}"
        finally:
            try:
                process.communicate(timeout=WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def read_alone(client: Any, path: str) -> None:
    """Read a file by the client as fast as it can: packet by packet, two ranges at once."""
    reader = client.read(path)

    def part(start: int) -> int:
        nbytes = min(8 * STEP, len(reader) - start)
        return sum(len(packet) for packet in reader.read_range_stream(start, nbytes))

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(part, range(0, len(reader), 8 * STEP))) == len(reader)


def write_alone(client: Any, path: str, data: memoryview) -> None:
    """Write a file by the client."""
    import hdfs_native

    options = hdfs_native.WriteOptions(overwrite=True, create_parent=True)
    with client.create(path, options) as file:
        for at in range(0, len(data), 4 * STEP):
            file.write(data[at : at + 4 * STEP])


def measure_site(report: common.Report, rounds: int, x: Any, site: str) -> None:
    """Take all samples of a number of DataNodes and replicas."""
    with hdfs(*SITES[site]) as url:
        contents = {}
        for kind in ("csv", "dbdf"):
            with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
                fs.write(x, Path(folder) / f"m.{kind}", meta=False)
                contents[kind] = (Path(folder) / f"m.{kind}").read_bytes()
            fs.write(x, f"{url}/m.{kind}", meta=False)
        # The first question over http starts a server in the NameNode.
        open_dataset(f"{url}/m.dbdf").where(0, 1)

        def take(subject: str) -> None:
            for kind, content in contents.items():
                where, case = f"{url}/m.{kind}", f"{kind} {{}}, {site}"
                if subject == TWO:
                    by_workers(report, x, where, case)
                else:
                    taken = by_itself(x, where) if subject == OWN else by_client(content, where)
                    report.add(subject, case.format("write"), taken, "s")

        for kind in contents:
            reads(report, rounds, f"{url}/m.{kind}", f"{kind} read, {site}")
        common.interleave(rounds, SUBJECTS, take)


def reads(report: common.Report, rounds: int, url: str, case: str) -> None:
    """Read a file by this program and by the client, in turn."""
    import hdfs_native

    server, _, name = url.rpartition("/")
    client = hdfs_native.Client(server)
    actions = {
        OWN: lambda: opened(url).compute(),
        CLIENT: lambda: read_alone(client, f"/{name}"),
    }
    for number in range(rounds * READS + 1):
        for subject, action in actions.items():
            taken = seconds(action)
            if number:
                report.add(subject, case, taken, "s")


def by_itself(x: Any, url: str) -> float:
    """Write an array from here."""
    return seconds(lambda: fs.write(x, url.replace("/m.", "/own.")))


def by_client(content: bytes, url: str) -> float:
    """Write bytes by the client."""
    import hdfs_native

    server, _, name = url.rpartition("/")
    client = hdfs_native.Client(server)
    return seconds(lambda: write_alone(client, f"/alone.{name}", memoryview(content)))


def by_workers(report: common.Report, x: Any, url: str, case: str) -> None:
    """Write and read a segment for each of some blocks, by two workers."""
    rows, url = -(-len(x) // 8), url + ".hdfs"
    with workers(2):
        warm(2, f"{url.rpartition('/')[0]}/small.{url.split('.')[-2]}.hdfs")
        blocks = fs.Array.from_numpy(x, rows).persist()
        report.add(TWO, case.format("write"), seconds(lambda: fs.write(blocks, url)), "s")
        # Once: a second read is answered, and not done.
        taken = seconds(lambda: opened(url, block_rows=rows).persist())
        report.add(TWO, case.format("read"), taken, "s")


def opened(url: str, **options: Any) -> Any:
    """Open a file, without the index that an earlier read has left."""
    without: dict[str, Any] = {"index": False} if ".csv" in url else {}
    return fs.read(url, **options, **without)


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with the client alone."""

    def of(case: str) -> float | None:
        return common.ratio(report.median(CLIENT, case), report.median(OWN, case))

    name = "DBDF read of hdfs-native alone"
    return [
        common.at_least(f"{name}, {site}", of(f"dbdf read, {site}"), 0.8, "x") for site in SITES
    ]


def main() -> None:
    """Measure, report and draw."""
    asked = common.parser("io_hdfs", QUESTION)
    asked.add_argument(
        "--site", nargs="+", choices=SITES, help="of them; quick: the least, the most"
    )
    given: argparse.Namespace = asked.parse_args()
    options = common.options("io_hdfs", given)
    before = common.machine()
    shape = SHAPES[options.quick][0]
    report = common.Report(QUESTION, {"shape": list(shape), "block": BLOCK})
    report.go_on(options)
    os.environ.setdefault("HADOOP_USER_NAME", "anyone")
    x = np.random.default_rng(1).random(shape)
    every = list(SITES)
    for site in given.site or (every[:: len(every) - 1] if options.quick else every):
        measure_site(report, options.rounds, x, site)
    report.claims = claims(report)
    kinds = ("csv read", "csv write", "dbdf read", "dbdf write")
    cases = [f"{kind}, {site}" for site in SITES for kind in kinds]
    panels = [
        plots.Panel(case, "seconds, lower is better", found)
        for case in cases
        if (found := report.series(case))
    ]
    report.pictures = [plots.Dots("Files in HDFS", panels, list(SUBJECTS))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()
