"""What is asked of HDFS, without one: windows of reads, where blocks are, and settings."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import socket
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FileError, FormatError, UsageError
from freestone.io.raw import read_values
from freestone.io.stores import hdfs, hdfs_client, hdfs_source, webhdfs
from freestone.io.stores.hdfs import HdfsLocation
from freestone.io.stores.webhdfs import (
    BlockLocation,
    block_locations,
    http_addresses,
    parse_locations,
    ranked,
)

CONTENT = random.Random(1).randbytes(100_000)
CONTENT_ARRAY = np.ones((2, 2))


class Reader:
    """A file of the client, which counts how often it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []
        self.breaks = 0

    def __len__(self) -> int:
        return len(CONTENT)

    def read_range(self, offset: int, count: int) -> bytes:
        self.calls.append((offset, count))
        return CONTENT[offset : offset + count]

    def read_range_stream(self, offset: int, count: int) -> Iterator[bytes]:
        self.calls.append((offset, count))
        for at in range(offset, offset + count, 700):
            if self.breaks and at > offset:
                self.breaks -= 1
                raise RuntimeError("DataNode read failed")
            yield CONTENT[at : min(at + 700, offset + count)]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    found = Reader()

    class Client:
        def read(self, path: str) -> Reader:
            return found

    monkeypatch.setattr(hdfs, "client", lambda *words: Client())
    monkeypatch.setattr(hdfs_source, "AHEAD_FROM", 1_000)
    monkeypatch.setattr(hdfs_source, "WINDOW", 10_000)
    return found


def test_reads_of_a_middle_size_bring_what_follows(reader: Reader) -> None:
    source = HdfsLocation("hdfs://h:1/f").source()
    for at in range(0, len(CONTENT), 2_000):
        assert bytes(source.read_at(at, 2_000)) == CONTENT[at : at + 2_000]
    assert reader.calls == [(at, 10_000) for at in range(0, len(CONTENT), 10_000)]


def test_small_and_large_reads_are_asked_as_they_are(reader: Reader) -> None:
    source = HdfsLocation("hdfs://h:1/f").source()
    for offset, count in [(0, 50), (70_000, 999), (5, 20_000)]:
        assert bytes(source.read_at(offset, count)) == CONTENT[offset : offset + count]
    assert reader.calls == [(0, 50), (70_000, 999), (5, 20_000)]


def test_any_read_gives_the_bytes_of_the_file(reader: Reader) -> None:
    source, dice = HdfsLocation("hdfs://h:1/f").source(), random.Random(2)
    for _ in range(2_000):
        offset, count = dice.randint(0, 110_000), dice.choice([0, 10, 1_500, 5_000, 12_000])
        assert bytes(source.read_at(offset, count)) == CONTENT[offset : offset + count]


def printed(*blocks: tuple[int, int, list[str]]) -> bytes:
    found = [{"offset": at, "length": count, "hosts": hosts} for at, count, hosts in blocks]
    return json.dumps({"BlockLocations": {"BlockLocation": found}}).encode()


def test_hosts_are_ranked_by_the_bytes_that_they_hold() -> None:
    blocks = parse_locations(printed((0, 100, ["a", "b"]), (100, 100, ["b", "c"])))
    assert blocks[0] == BlockLocation(offset=0, nbytes=100, hosts=("a", "b"))
    assert ranked(blocks, 0, 100) == ["a", "b"]
    assert ranked(blocks, 50, 150) == ["b"]
    assert ranked(blocks, 20, 110) == ["b", "a"]
    assert ranked(blocks, 200, 300) == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"{}",
        b"<html>",
        b"\xff",
        b"[" * 10**5,
        printed()[:-5],
        b'{"BlockLocations": 1}',
        b'{"BlockLocations": {"BlockLocation": [{"offset": "x"}]}}',
    ],
)
def test_other_answers_say_nothing(answer: bytes) -> None:
    assert parse_locations(answer) == ()


def test_a_server_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refused(url: str, timeout: float) -> Any:
        asked.append(url)
        raise ConnectionRefusedError

    monkeypatch.setattr("urllib.request.urlopen", refused)
    for path in ("/a b", "/c"):
        assert block_locations("nobody:9870", path, "me", (1, 2)) == ()
    wanted = "http://nobody:9870/webhdfs/v1/a%20b?op=GETFILEBLOCKLOCATIONS&user.name=me"
    assert asked == [wanted]
    monkeypatch.setattr(webhdfs, "_silent_until", {"nobody:9870": 0.0})
    assert block_locations("nobody:9870", "/a b", "me", (1, 2)) == ()
    assert asked == [wanted] * 2


def test_memory_is_filled_in_place_and_what_breaks_off_goes_on(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdfs_client, "FIRST_WAIT_S", 0.0)
    source = HdfsLocation("hdfs://h:1/f").source()
    view = bytearray(5_000)
    assert source.read_into(90_000, memoryview(view)) == 5_000
    assert view == CONTENT[90_000:95_000]
    assert source.read_into(98_000, memoryview(view)) == 2_000
    assert view[:2_000] == CONTENT[98_000:]
    assert source.read_into(100_001, memoryview(view)) == 0
    reader.calls, reader.breaks = [], 2
    found = read_values(source, 8, (2_000,), "u1", threads=1)
    assert bytes(found) == CONTENT[8:2_008]
    assert reader.calls == [(8, 2_000), (708, 1_300), (1_408, 600)]
    with pytest.raises(FormatError, match="truncated"):
        read_values(source, 0, (100_001,), "u1", threads=2)


def test_what_breaks_off_for_another_reason_is_reported(reader: Reader) -> None:
    def refused(offset: int, count: int) -> Iterator[bytes]:
        raise RuntimeError(
            'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied")'
        )

    reader.read_range_stream = refused  # type: ignore[method-assign]
    with pytest.raises(PermissionError):
        HdfsLocation("hdfs://h:1/f").source().read_into(0, memoryview(bytearray(10)))


@pytest.mark.parametrize(
    ("reported", "kind"),
    [
        ('RPCError("java.io.FileNotFoundException", "no /f")', FileNotFoundError),
        ("RPC error: java.io.FileNotFoundException no /f", FileNotFoundError),
        ('RPCError("org.apache.hadoop.security.AccessControlException", "no")', PermissionError),
        (
            'FatalRPCError("org.apache.hadoop.security.authorize.AuthorizationException", "no")',
            PermissionError,
        ),
        ('RPCError("java.io.IOException", "java.io.FileNotFoundException in a text")', FileError),
        ('OperationFailed("the file is called Permission denied")', FileError),
    ],
)
def test_what_a_namenode_answers_is_known_by_its_class(
    reported: str, kind: type[Exception]
) -> None:
    def call() -> None:
        raise RuntimeError(reported)

    with pytest.raises(kind) as caught:
        hdfs_client.asked("hdfs://h:1/f", call)
    assert type(caught.value) is kind


def test_the_address_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HDFS_HTTP_ADDRESS", raising=False)
    assert http_addresses("name:9000", {}) == ["name:9870"]
    assert http_addresses("name", {}) == ["name:9870"]
    monkeypatch.setenv("HDFS_HTTP_ADDRESS", "other:1234")
    assert http_addresses("name:9000", {}) == ["other:1234"]


SITE = """<?xml version="1.0"?><configuration>
<property><name>dfs.nameservices</name><value>ours</value></property>
<property><name>dfs.ha.namenodes.ours</name><value>nn1, nn2</value></property>
<property><name>dfs.namenode.http-address.ours.nn1</name><value>one:9870</value></property>
<property><name>dfs.namenode.http-address.ours.nn2</name><value>two:9870</value></property>
</configuration>"""


def test_the_active_one_of_two_namenodes_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HDFS_HTTP_ADDRESS", raising=False)
    (tmp_path / "hdfs-site.xml").write_text(SITE)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    location = HdfsLocation.of("hdfs://ours/f")
    asked: list[str] = []

    def answering(url: str, timeout: float) -> Any:
        asked.append(url.split("/")[2])
        if "one:" in url:
            raise urllib.error.HTTPError(url, 403, "StandbyException", Message(), None)
        return io.BytesIO(printed((0, 100, ["a"])))

    monkeypatch.setattr("urllib.request.urlopen", answering)
    monkeypatch.setattr(webhdfs, "_silent_until", {})
    assert location.hosts(0, 50, (100, 1)) == ["a"]
    assert location.hosts(50, 60, (100, 1)) == ["a"]
    assert asked == ["one:9870", "two:9870"]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "hdfs-site.xml").write_text("<configuration>")
    for folder in ("broken", "none"):
        settings = {"HADOOP_CONF_DIR": str(tmp_path / folder)}
        assert http_addresses("ours", settings) == ["ours:9870"]


def test_settings_of_hadoop_and_kerberos_go_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the client records how it is made, as it would be by a worker."""
    made: list[tuple[str | None, dict[str, str]]] = []

    class Client:
        def __init__(self, url: str | None) -> None:
            made.append((url, {name: os.environ.get(name, "") for name in hdfs_client.SETTINGS}))

    wanted = {name: f"/of/{name}" for name in hdfs_client.SETTINGS} | {"HDFS_TIMEOUT_S": "20"}
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HADOOP_USER_NAME", "she")
    location = HdfsLocation.of("hdfs://service/folder/f.csv.hdfs")
    sent = pickle.dumps(location.inside("f.csv.hdfs_segment_1").beside(".meta").at("/elsewhere"))
    for name in (*wanted, "HADOOP_USER_NAME"):
        monkeypatch.delenv(name)
    monkeypatch.setitem(sys.modules, "hdfs_native", SimpleNamespace(Client=Client))
    hdfs_client.client.cache_clear()
    try:
        there = pickle.loads(sent)
        assert there.client is there.client
    finally:
        hdfs_client.client.cache_clear()
    assert made == [("hdfs://service", wanted)]
    assert os.environ["HADOOP_USER_NAME"] == "she"
    assert there.url == "hdfs://service/elsewhere"


@pytest.mark.parametrize("server", ["127.0.0.1:1", "nobody.invalid:9000", "127.0.0.1:99999"])
def test_a_namenode_that_is_not_there_is_reported_at_once(server: str) -> None:
    with pytest.raises(FileError, match="can't be reached"):
        fs.read(f"hdfs://{server}/m.csv")
    with pytest.raises(FileError, match="can't be reached"):
        fs.write(CONTENT_ARRAY, f"hdfs://{server}/m.csv")


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_namenode_that_does_not_answer_is_refused(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDFS_TIMEOUT_S", "0.1")
    with pytest.raises(FileError, match=rf"{silent}.* does not answer within 0\.1 s"):
        fs.read(f"hdfs://{silent}/m.csv")


def test_the_command_line_ends_when_hdfs_does_not_answer(silent: str, tmp_path: Path) -> None:
    script = tmp_path / "one.daph"
    script.write_text("print(1);")
    command = [sys.executable, "-m", "freestone", "run", "--enable-hdfs", "--hdfs-ip", silent]
    environment = {**os.environ, "HDFS_TIMEOUT_S": "0.1"}
    ended = subprocess.run(
        [*command, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    assert f"{silent} does not answer within 0.1 s" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "nan", "inf"])
def test_a_limit_that_is_no_time_is_refused(
    seconds: str, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDFS_TIMEOUT_S", seconds)
    with pytest.raises(UsageError, match=f"HDFS_TIMEOUT_S has to be .*{seconds}"):
        fs.read(f"hdfs://{silent}/m.csv")


@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        ('InvalidArgument("No NameNode hosts found")', "hdfs-site.xml in HADOOP_CONF_DIR"),
        ('InvalidArgument("No fs.defaultFS setting found")', "--hdfs-ip"),
    ],
)
def test_what_to_try_is_reported(monkeypatch: pytest.MonkeyPatch, printed: str, hint: str) -> None:
    def refused(*words: object) -> None:
        raise RuntimeError(printed)

    monkeypatch.setattr(hdfs, "client", refused)
    with pytest.raises(FileError, match=hint):
        fs.read("hdfs://service/m.csv")
