"""Cancel all calls that the program of a cluster has submitted with a tag."""

from __future__ import annotations

import argparse
from typing import Any

from freestone.cli.clusters import chosen_cluster
from freestone.cli.output import Output

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--cluster", metavar="ADDRESS", help="its address, folder or id")
    parser.add_argument("tag", metavar="TAG", help="as given to submit(..., tag=...)")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Tell the cluster; how many calls had the tag."""
    from freestone.observe.control import ask

    cluster = chosen_cluster(arguments.cluster)
    answer = ask(cluster["folder"], {"ask": "cancel", "tag": arguments.tag})
    data = {"tag": arguments.tag, "cancelled": answer["cancelled"]}
    output.show(data, lambda: _text(arguments.tag, answer))
    return 0


def _text(tag: str, answer: dict[str, Any]) -> str:
    text = f"{answer['cancelled']} calls had the tag {tag!r} and are cancelled"
    if not answer["programs"]:
        return text
    # Tags are not sent with calls.
    return f"{text}; programs that are connected cancel theirs by cluster.cancel(tag={tag!r})"
