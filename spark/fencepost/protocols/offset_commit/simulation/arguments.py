"""The arguments of ``fencepost simulate``: a module of its own, since every command loads it."""

from __future__ import annotations

from argparse import ArgumentParser

POLICIES = ("strict", "member_revocation", "partition_revocation", "assignment_epoch")
MOST_COMMITS = 20


def options(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "rule",
        metavar="RULE",
        nargs="?",
        help=f"list the commits that this one answers otherwise: {', '.join(POLICIES)}, or a release such as "
        "4.3 (default: count them for each)",
    )
    parser.add_argument("--cluster", metavar="NAME", help="only commits of this cluster")
    parser.add_argument("--group", metavar="GROUP", help="only commits of this group")
    parser.add_argument(
        "--limit", type=int, default=MOST_COMMITS, metavar="N", help=f"so many (default: {MOST_COMMITS})"
    )
