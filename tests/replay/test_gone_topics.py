"""Which topics do not exist any more, by metadata logs written by hand."""

from __future__ import annotations

from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog, Piece
from fencepost.replay.metadata_records import REMOVE_TOPIC, TOPIC, MetadataRecord


def _topic(at: int, name: str, topic_id: str) -> MetadataRecord:
    return MetadataRecord(at, at * 100, TOPIC, {"name": name, "topic_id": topic_id})


def _gone(*pieces: Piece) -> dict[str, int]:
    return dict(ClusterMetadata.of(MetadataLog(pieces, (), 20, 2_000, from_beginning=True)).gone)


CREATED = Commit(0, 0, (_topic(0, "a", "A"), _topic(0, "b", "B")))


def test_a_topic_is_gone_when_it_is_removed() -> None:
    removal = MetadataRecord(5, 500, REMOVE_TOPIC, {"topic_id": "A"})
    assert _gone(CREATED, Commit(5, 500, (removal,))) == {"A": 500}


def test_a_hole_removes_nothing() -> None:
    assert _gone(CREATED, Hole(5, 500), Commit(9, 900, (_topic(9, "c", "C"),))) == {}


def test_what_a_snapshot_behind_a_hole_does_not_have_is_gone() -> None:
    snapshot = Commit(8, 800, (_topic(8, "b", "B"),), is_snapshot=True)
    assert _gone(CREATED, Hole(5, 500), snapshot) == {"A": 800}


def test_a_topic_is_gone_when_another_one_has_its_name() -> None:
    assert _gone(CREATED, Hole(5, 500), Commit(9, 900, (_topic(9, "a", "A2"),))) == {"A": 900}
