"""Reads Java's ``.properties`` files, as far as Kafka's own have them: no unicode escapes."""

from __future__ import annotations

import re

META_PROPERTIES = "meta.properties"
"""Kafka's file in each of its log directories: whose the directory is."""
NODE_ID = ("node.id", "broker.id")
"""KRaft's and ZooKeeper's name of a broker's id; while a cluster is migrated a file may have both."""

_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
_PAIR = re.compile(r"(?P<name>[^=:\s]+)[ \t]*[=:]?[ \t]*(?P<value>.*)")


def properties_in(content: bytes) -> dict[str, str]:
    """Name -> value; of a name that is there twice the last one, as for Kafka. Raises UnicodeDecodeError."""
    lines = (line.strip() for line in _CONTINUED.sub("", content.decode()).splitlines())
    pairs = (_PAIR.fullmatch(line) for line in lines if line and not line.startswith(("#", "!")))
    return {pair["name"]: pair["value"] for pair in pairs if pair}
