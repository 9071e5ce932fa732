"""Let members of other machines into a running cluster, each by its own file, or shut them out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from freestone.cli.clusters import chosen_cluster
from freestone.cli.output import Output, add_form
from freestone.errors import UsageError

__all__ = ["configure", "execute"]

Ask = Callable[..., dict[str, Any]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    grant = actions.add_parser("grant", help="write an access file for a member")
    grant.add_argument("member", metavar="MEMBER", help="a name of your choice")
    grant.add_argument("file", metavar="FILE", help="for fs.connect and freestone worker --access")
    revoke = actions.add_parser("revoke", help="shut a member out at once")
    revoke.add_argument("member", metavar="MEMBER", help="the name that was chosen")
    granted = actions.add_parser("list", help="show who has access")
    for action in (grant, revoke, granted):
        add_form(action, is_nested=True)
        action.add_argument("--cluster", metavar="ADDRESS", help="its name, address, folder or id")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Ask the cluster, which alone can make and unmake members."""
    from freestone.observe import control

    cluster = chosen_cluster(arguments.cluster)

    def ask(what: str, **about: str) -> dict[str, Any]:
        return control.ask(cluster["folder"], {"ask": what, **about})

    _ACTIONS[arguments.action](arguments, ask, output)
    return 0


def _grant(arguments: argparse.Namespace, ask: Ask, output: Output) -> None:
    from freestone.hosts.access import Access

    member = arguments.member
    if not member.strip():
        raise UsageError(f"MEMBER {member!r} is no name; give one by which to revoke the access")
    if os.path.isfile(arguments.file):
        raise UsageError(
            f"{arguments.file} is there, and may be the access of another member; remove it, or "
            "give another FILE"
        )
    text = ask("grant", member=member)["access"]
    try:
        path = Access.parse(text).write(arguments.file)
    except UsageError:
        ask("revoke", member=member)
        raise
    data = {"member": member, "file": str(path)}
    output.show(data, lambda: f"{member} has access with {path}, until it is revoked or expires")


def _revoke(arguments: argparse.Namespace, ask: Ask, output: Output) -> None:
    ask("revoke", member=arguments.member)
    output.show({"member": arguments.member}, lambda: f"{arguments.member} is shut out")


def _list(arguments: argparse.Namespace, ask: Ask, output: Output) -> None:
    granted = ask("granted")["granted"]
    nobody = "access was granted to nobody; the cluster's own access file works always"
    output.show({"granted": granted}, lambda: "\n".join(granted) or nobody)


_ACTIONS = {"grant": _grant, "revoke": _revoke, "list": _list}
