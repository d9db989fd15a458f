"""What faust, a framework of Python, says of an assignment in its user data (faust.assignor).

Beside the partitions that a member owns, its assignment lists those of the changelogs from which it keeps
copies of other members' tables; only the user data tells them apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

import orjson

_AT_MOST = 1 << 24
"""The longest text that is read: few bytes may become a very long one."""

_KINDS = ("actives", "standbys")

Tasks = Mapping[str, Mapping[str, Sequence[int]]]
"""``actives`` and ``standbys``: partitions by topic."""


def tasks(user_data: bytes | None) -> Tasks | None:
    """The tasks in a ClientMetadata; None for any other bytes."""
    with suppress(ValueError, zlib.error):
        told = orjson.loads(zlib.decompressobj().decompress(user_data or b"", _AT_MOST))
        found = told.get("assignment") if isinstance(told, dict) else None
        if isinstance(found, dict) and all(_is_partitions(found.get(kind)) for kind in _KINDS):
            return {kind: found[kind] for kind in _KINDS}
    return None


def only_tasks(user_data: bytes) -> bytes | None:
    """The same without all else, such as the members' addresses; None for any other bytes."""
    read = tasks(user_data)
    return None if read is None else zlib.compress(orjson.dumps({"assignment": read}))


def without_copies(
    topics: Sequence[tuple[str, Sequence[int]]], user_data: bytes | None
) -> Sequence[tuple[str, Sequence[int]]]:
    """The listed partitions but those that the member only copies."""
    read = tasks(user_data)
    if read is None:
        return topics
    actives, standbys = (read[kind] for kind in _KINDS)
    copies = {topic: set(each).difference(actives.get(topic, ())) for topic, each in standbys.items()}
    return [
        (topic, [each for each in partitions if each not in copies.get(topic, ())])
        for topic, partitions in topics
    ]


def _is_partitions(of: object) -> bool:
    lists = of.values() if isinstance(of, dict) else (None,)
    return all(isinstance(each, list) and all(type(one) is int for one in each) for each in lists)
