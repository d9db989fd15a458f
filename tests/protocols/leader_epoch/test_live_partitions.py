"""Which incarnation may have lived in a window of the metadata log, and why that is not known."""

from __future__ import annotations

import pytest

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.live_partitions import (
    NOT_KNOWN,
    NOT_YET_KNOWN,
    LivePartition,
    candidates,
)
from fencepost.protocols.leader_epoch.states import columns_of
from fencepost.reasons import EVIDENCE_ENDS
from fencepost.replay.metadata_log import ControllerTerm, Hole, MetadataLog
from fencepost.replay.metadata_records import PARTITION, TOPIC, MetadataRecord

_PARTITION = {
    "topic_id": "A", "partition_id": 0, "leader": 1, "leader_epoch": 0, "isr": [1], "replicas": [1],
    "partition_epoch": 0,
}  # fmt: skip
WHOLE = replay(
    MetadataLog.of_records(
        MetadataRecord(at, at, kind, fields)
        for at, kind, fields in (
            (0, TOPIC, {"name": "t", "topic_id": "A"}),
            (1, PARTITION, _PARTITION),
            (20, TOPIC, {"name": "other", "topic_id": "C"}),
        )
    )
)
CUT = replay(MetadataLog((Hole(10, None),), (ControllerTerm(0, 0, 100, 1, 1),), 21, 100, from_beginning=True))


@pytest.mark.parametrize(
    ("lowest", "highest", "unknown"), [(1, 12, None), (1, 21, EVIDENCE_ENDS), (30, 40, EVIDENCE_ENDS)]
)
def test_what_comes_behind_the_end_of_the_log_is_not_known_yet(
    lowest: int, highest: int, unknown: str | None
) -> None:
    (state,) = candidates(WHOLE, Window(lowest, highest), "t", 0)
    assert state.unknown == unknown
    assert (state == NOT_YET_KNOWN) is (state.topic_id is None)
    assert columns_of([state]) == (
        (state.topic_id, state.partition_epoch, state.leader_epoch, unknown, 1),
        ([state.topic_id], [state.partition_epoch], [state.leader_epoch]),
    )


def test_what_a_hole_hides_stays_unknown() -> None:
    assert candidates(CUT, Window(1, 40), "t", 0) == [NOT_KNOWN]
    assert candidates(WHOLE, Window(1, 12), "t", 0, "no such id") == [NOT_KNOWN] == [LivePartition()]
