"""Segments in HDFS written by many workers.

See docs/decisions/061-hdfs-segments-are-closed-concurrently.md
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from freestone.client import Client, gather
from freestone.collections.base import Collection
from freestone.collections.placing import slots_of
from freestone.io.segment_writer import SegmentWriter
from freestone.io.stores.hdfs import HdfsLocation
from freestone.io.telling import telling
from freestone.observe.workers import worker_number
from freestone.storage.meters import Meter

__all__ = ["write_segments"]


def write_segments(
    writer: SegmentWriter, x: Collection, client: Client | None, meter: Meter
) -> None:
    """Write a segment for each block, by the worker that has it; `meter` is told what is written.

    A call writes several segments: each waits until HDFS knows that it is complete, and they had
    better wait together.
    """
    part = writer.begin()
    try:
        if client is None:
            writer.write(part, enumerate(x.blocks, 1))
        else:
            _write_there(writer, part, x, client, meter)
        writer.commit(part)
    except BaseException:
        writer.abandon(part)
        raise


def _write_there(
    writer: SegmentWriter, part: HdfsLocation, x: Collection, client: Client, meter: Meter
) -> None:
    written = []
    for worker, numbers in _shares(x.where(), slots_of(client)):
        options = {
            # Written again, after a worker is lost: the same bytes under the same names.
            "pure": False,
            "retries": 2,
            "near": "input" if worker is None else worker,
            "name": f"write {writer.location.name}",
        }
        blocks = [x.blocks[number - 1] for number in numbers]
        written.append(client.submit(_write, (writer, part, numbers, blocks), {}, options))
        meter.add(written[-1])
    gather(written)


def _shares(where: list[list[str]], slots: dict[int, int]) -> list[tuple[int | None, list[int]]]:
    """Deal the blocks of each worker to its executors; those of none to all there are.

    Returns
    -------
    list of (worker, numbers)
        The worker's number, None if none has the blocks, and the blocks' numbers, from 1.
    """
    held: dict[int | None, list[int]] = defaultdict(list)
    for number, workers in enumerate(where, 1):
        held[worker_number(workers[0]) if workers else None].append(number)
    shares: list[tuple[int | None, list[int]]] = []
    for worker, numbers in held.items():
        count = 0 if worker is None else slots.get(worker, 0)
        # Where there are no executors, as at the program, others read what they write.
        place = worker if count else None
        count = count or max(sum(slots.values()), 1)
        shares.extend((place, numbers[first::count]) for first in range(min(count, len(numbers))))
    return shares


def _write(writer: SegmentWriter, part: HdfsLocation, numbers: list[int], blocks: list[Any]) -> int:
    with telling(writer.location.url):
        return writer.write(part, zip(numbers, blocks, strict=True))
