"""Which topics have, or had, tiered storage (KIP-405), by the configurations in the metadata log."""

from __future__ import annotations

from collections import defaultdict

from fencepost.replay.metadata_log import Hole, MetadataLog
from fencepost.replay.metadata_records import CONFIG

NEVER, ENABLED, DELETES_WHEN_DISABLED = "never", "enabled", "deletes_when_disabled"
_TOPIC = 2
"""org.apache.kafka.common.config.ConfigResource.Type."""
_MEANS = {"remote.storage.enable": ENABLED, "remote.log.delete.on.disable": DELETES_WHEN_DISABLED}


class TieredStorage:
    """The configurations of one cluster's topics about tiered storage."""

    def __init__(self, log: MetadataLog) -> None:
        self._set: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._hole: int | None = None
        """Where the newest hole is that no snapshot follows, which has all configurations."""
        for piece in log.pieces:
            if isinstance(piece, Hole):
                self._hole = piece.position
                continue
            if piece.is_snapshot:
                self._hole = None
            for record in piece.records:
                fields = record.fields
                if (
                    record.type == CONFIG
                    and fields["resource_type"] == _TOPIC
                    and fields["name"] in _MEANS
                    and fields["value"] == "true"
                ):
                    self._set[fields["resource_name"]].append((piece.position, _MEANS[fields["name"]]))

    def of(self, topic: str | None, begins: int, ends: int | None) -> str | None:
        """The value of ``silver.topic_incarnations`` for a topic that lived from one position to another
        (None: it lives).
        """
        within = {
            means
            for position, means in self._set.get(topic or "", ())
            if begins <= position and (ends is None or position < ends)
        }
        if DELETES_WHEN_DISABLED in within:
            return DELETES_WHEN_DISABLED
        if topic is None or (self._hole is not None and (ends is None or self._hole < ends)):
            return None
        return ENABLED if within else NEVER
