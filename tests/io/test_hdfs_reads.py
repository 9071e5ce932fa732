"""What is asked of HDFS, without one: windows of reads, and where blocks are."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from freestone.io.stores import hdfs, webhdfs
from freestone.io.stores.hdfs import HdfsPlace, Source
from freestone.io.stores.webhdfs import (
    BlockLocation,
    block_locations,
    http_address,
    parse_locations,
    ranked,
)

CONTENT = random.Random(1).randbytes(100_000)


class Reader:
    """A file of the client, which counts how often it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(CONTENT)

    def read_range(self, offset: int, count: int) -> bytes:
        self.calls.append((offset, count))
        return CONTENT[offset : offset + count]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    found = Reader()

    class Client:
        def read(self, path: str) -> Reader:
            return found

    monkeypatch.setattr(hdfs, "client", lambda *words: Client())
    monkeypatch.setattr(hdfs, "AHEAD_FROM", 1_000)
    monkeypatch.setattr(hdfs, "WINDOW", 10_000)
    return found


def test_reads_of_a_middle_size_bring_what_follows(reader: Reader) -> None:
    source = Source(HdfsPlace("hdfs://h:1/f"))
    for at in range(0, len(CONTENT), 2_000):
        assert bytes(source.read_at(at, 2_000)) == CONTENT[at : at + 2_000]
    assert reader.calls == [(at, 10_000) for at in range(0, len(CONTENT), 10_000)]


def test_small_and_large_reads_are_asked_as_they_are(reader: Reader) -> None:
    source = Source(HdfsPlace("hdfs://h:1/f"))
    for offset, count in [(0, 50), (70_000, 999), (5, 20_000)]:
        assert bytes(source.read_at(offset, count)) == CONTENT[offset : offset + count]
    assert reader.calls == [(0, 50), (70_000, 999), (5, 20_000)]


def test_any_read_gives_the_bytes_of_the_file(reader: Reader) -> None:
    source, dice = Source(HdfsPlace("hdfs://h:1/f")), random.Random(2)
    for _ in range(2_000):
        offset, count = dice.randint(0, 110_000), dice.choice([0, 10, 1_500, 5_000, 12_000])
        assert bytes(source.read_at(offset, count)) == CONTENT[offset : offset + count]


def said(*blocks: tuple[int, int, list[str]]) -> bytes:
    found = [{"offset": at, "length": count, "hosts": hosts} for at, count, hosts in blocks]
    return json.dumps({"BlockLocations": {"BlockLocation": found}}).encode()


def test_hosts_are_ranked_by_the_bytes_that_they_hold() -> None:
    blocks = parse_locations(said((0, 100, ["a", "b"]), (100, 100, ["b", "c"])))
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
        said()[:-5],
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


def test_the_address_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HDFS_HTTP_ADDRESS", raising=False)
    assert http_address("name:9000") == "name:9870"
    assert http_address("name") == "name:9870"
    monkeypatch.setenv("HDFS_HTTP_ADDRESS", "other:1234")
    assert http_address("name:9000") == "other:1234"
