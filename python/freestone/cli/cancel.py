"""Cancel all calls that programs of a cluster have submitted with a tag."""

from __future__ import annotations

import argparse

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
    tag, cancelled = arguments.tag, answer["cancelled"]
    data = {"tag": tag, "cancelled": cancelled}
    output.show(data, lambda: f"{cancelled} calls had the tag {tag!r} and are cancelled")
    return 0
