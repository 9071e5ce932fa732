"""Cancel all calls of a running cluster that were submitted with a tag."""

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
    count = ask(cluster["folder"], {"ask": "cancel", "tag": arguments.tag})["cancelled"]
    data = {"tag": arguments.tag, "cancelled": count}
    output.show(data, lambda: f"{count} calls had the tag {arguments.tag!r} and are cancelled")
    return 0
