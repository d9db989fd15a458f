"""Which topics have, or had, tiered storage, by their configurations in the metadata log."""

from __future__ import annotations

from fencepost.protocols.leader_epoch.tiered_storage import TieredStorage
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog, Piece
from fencepost.replay.metadata_records import CONFIG, MetadataRecord

ENABLE, DELETE = "remote.storage.enable", "remote.log.delete.on.disable"


def _told(at: int, name: str, value: str | None, topic: str = "t", kind: int = 2) -> Commit:
    fields = {"resource_type": kind, "resource_name": topic, "name": name, "value": value}
    return Commit(at, at, (MetadataRecord(at, at, CONFIG, fields),))


def _of(*pieces: Piece, begins: int = 5, ends: int | None = None, topic: str | None = "t") -> str | None:
    return TieredStorage(MetadataLog(pieces, (), 99, 99, True)).of(topic, begins, ends)


def test_a_topic_has_tiered_storage_if_it_was_ever_enabled() -> None:
    assert _of() == "never"
    assert _of(_told(5, ENABLE, "true")) == "enabled"
    assert _of(_told(5, ENABLE, "true"), _told(7, ENABLE, "false")) == "enabled"
    assert _of(_told(5, ENABLE, "true"), _told(7, DELETE, "true"), _told(8, ENABLE, None)) == (
        "deletes_when_disabled"
    )
    # of another topic, of one of the same name before or after, of a broker
    assert _of(_told(5, ENABLE, "true", "u"), _told(5, ENABLE, "true", kind=4)) == "never"
    assert _of(_told(4, ENABLE, "true"), _told(9, DELETE, "true"), ends=9) == "never"


def test_a_hole_may_hide_it_unless_a_snapshot_follows() -> None:
    hole, image = Hole(6, 6), Commit(8, 8, (), is_snapshot=True)
    assert _of(hole) is None
    assert _of(_told(5, ENABLE, "true"), hole) is None
    assert _of(_told(5, DELETE, "true"), hole) == "deletes_when_disabled"
    assert _of(hole, image) == "never"
    assert _of(hole, ends=6) == "never"
    assert _of(topic=None) is None
