"""The arguments of ``fencepost offsets``: a module of its own, since every command loads it."""

from __future__ import annotations

from argparse import ArgumentParser

NEEDED = ("topic", "partition", "offset")
OPTIONAL = ("topic_id", "leader_epoch", "offset_epoch", "stored_at")
"""The columns of stored offsets."""


def options(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "stored",
        metavar="FILE|TABLE",
        help=f"CSV, JSON lines, Parquet, or schema.table; columns {', '.join(NEEDED)}, and any of "
        f"{', '.join(OPTIONAL)}",
    )
    parser.add_argument("--cluster", metavar="NAME", help="needed when the lake has several clusters")
