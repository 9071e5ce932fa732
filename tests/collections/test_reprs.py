from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np

import freestone as fs


class Balanced(HTMLParser):
    """Counts tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_text(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.zeros((10, 2)), 4, name="points").persist()
    assert repr(x) == f"<freestone.Array 'points': (10, 2), float64, 3 blocks, {size(x)}>"
    assert "4 rows, 2 blocks" in repr(fs.Frame.from_table({"a": [1, 2, 3, 4]}, 2))
    assert "1 item, 1 block" in repr(fs.Bag.from_items(["a"], 2))


def size(x: fs.Array) -> str:
    from freestone.units import format_nbytes

    return format_nbytes(sum(block.nbytes for block in x.blocks))


def test_html_is_self_contained_and_shows_workers(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(
        (2000, 2), 2, lambda a, b: np.zeros((b - a, 2)), name="<b>"
    ).persist()
    html = x._repr_html_()
    for bad in ("<script", "http", "<b><b>", "None"):
        assert bad not in html
    assert "&lt;b&gt;" in html
    assert "worker-0" in html
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    # However many blocks there are.
    assert len(html) < 200_000


def test_blocks_have_the_colour_of_their_worker(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(20, 2, lambda a, b: np.zeros(b - a)).persist()
    html = x._repr_html_()
    drawn = re.findall(r'title="(worker-\d): 5 blocks".*?background: (#\w+)', html)
    assert [worker for worker, _ in drawn] == ["worker-0", "worker-1"]
    assert len({colour for _, colour in drawn}) == 2
    for worker, colour in drawn:
        assert f'color: {colour}">■</span> {worker} 5' in html


def test_frames_and_bags_are_shown(two_workers: fs.Cluster) -> None:
    for collection, facts in (
        (fs.Frame.from_table({"a": [1, 2, 3, 4]}, 2, name="table"), "4 rows, 2 blocks"),
        (fs.Bag.from_items(["a"], 2, name="words"), "1 item, 1 block"),
    ):
        html = collection._repr_html_()
        assert f"<b>{collection.name}</b>" in html
        assert facts in html


def test_a_partition_is_shown(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(20, 2, lambda a, b: np.zeros(b - a)).persist()
    last = fs.split(x)[-1]
    html = last._repr_html_()
    assert "<b>Partition</b> on worker-1: 5 blocks, 10 rows, " in html
    assert 'title="rows 10 to 19"' in html
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert repr(last).startswith("<freestone.Partition of 5 blocks, ")


def test_blocks_that_failed_are_shown(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(4, 2, lambda a, b: 1 / 0, name="bad")
    assert x.blocks[0].exception() is not None
    assert x.blocks[1].exception() is not None
    assert "failed" in x._repr_html_()
