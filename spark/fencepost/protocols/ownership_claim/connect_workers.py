"""What a worker of Kafka Connect says of itself when it joins its group (ConnectProtocol, and
IncrementalCooperativeConnectProtocol, whose subscription has an assignment behind these fields).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple

from fencepost.replay.group_coordinator.message_reader import Reader

CONNECT = "connect"
_VERSIONS = range(3)


class Worker(NamedTuple):
    """``url``: of its REST API. ``config_offset``: up to where it has read the config topic, or -1."""

    url: str | None = None
    config_offset: int | None = None


def worker_of(sent: Mapping[str, Any]) -> Worker:
    """The worker that sent a JoinGroup request, None in both fields if it is none, or cannot be read."""
    protocols = sent.get("protocols")
    if sent.get("protocolType") != CONNECT or not protocols:
        return Worker()
    try:
        data = b64decode(protocols[0].get("metadata") or "", validate=True)
        reader = Reader(data, at=2)
        is_known = int.from_bytes(data[:2], "big") in _VERSIONS
        return Worker(reader.text(), reader.int64()) if is_known else Worker()
    except ValueError:
        return Worker()
