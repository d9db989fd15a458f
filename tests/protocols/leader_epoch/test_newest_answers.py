"""Whether a cluster had anything newer about a topic than what a broker, which may be behind, answered."""

from __future__ import annotations

import pytest

from fencepost.protocols.leader_epoch.answers import END, PartitionAnswer, TopicAnswer
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.metadata_answers import is_newest
from fencepost.replay.metadata_log import MetadataLog
from fencepost.replay.metadata_records import PARTITION, PARTITION_CHANGE, REMOVE_TOPIC, TOPIC, MetadataRecord

BEFORE_EPOCHS, BEFORE_IDS, WITH_IDS = 8, 9, 13
"""Versions of Metadata."""
UNKNOWN_TOPIC, DENIED = 3, 29


@pytest.fixture(scope="module")
def history() -> ClusterHistory:
    """A topic from offset 0 on, deleted at 5, created again at 8, with another leader at 15."""
    partition = {
        "partition_id": 0, "leader": 1, "leader_epoch": 0, "isr": [1], "replicas": [1], "partition_epoch": 0
    }  # fmt: skip
    said = (
        (0, TOPIC, {"name": "t", "topic_id": "A"}),
        (1, PARTITION, {**partition, "topic_id": "A"}),
        (5, REMOVE_TOPIC, {"topic_id": "A"}),
        (8, TOPIC, {"name": "t", "topic_id": "B"}),
        (9, PARTITION, {**partition, "topic_id": "B"}),
        (15, PARTITION_CHANGE, {"topic_id": "B", "partition_id": 0, "leader": 2}),
        (20, TOPIC, {"name": "other", "topic_id": "C"}),
    )
    return replay(MetadataLog.of_records(MetadataRecord(at, at, kind, fields) for at, kind, fields in said))


def answer(error: int = 0, leader_epoch: int = 0) -> TopicAnswer:
    partitions = () if error else (PartitionAnswer(0, leader_epoch, 1, 0),)
    return TopicAnswer("t", None, error, partitions, 0, END)


@pytest.mark.parametrize(
    ("lowest", "highest", "newest"),
    [(1, 4, True), (0, 5, False), (1, 8, False), (7, 9, False), (8, 12, True), (8, 99, False)],
    ids=["the first", "deleted", "of either", "of either, or none", "the second", "not known so far"],
)
def test_an_answer_without_ids(history: ClusterHistory, lowest: int, highest: int, *, newest: bool) -> None:
    """Only another topic of the name could be newer: clients keep no epochs of such versions."""
    told = is_newest(history, highest, Window(lowest, highest), BEFORE_EPOCHS, answer())
    assert told is newest


@pytest.mark.parametrize(
    ("leader_epoch", "lowest", "highest", "newest"),
    [
        (0, 1, 4, True),
        (1, 1, 4, False),
        (0, 1, 8, False),
        (0, 8, 12, True),
        (0, 12, 18, False),
        (1, 12, 18, True),
        (1, 8, 99, False),
    ],
    ids=[
        "the first",
        "an epoch that it never had",
        "of either",
        "the second",
        "an earlier epoch",
        "the newest",
        "not known",
    ],
)
def test_an_answer_with_epochs_and_without_ids(
    history: ClusterHistory, leader_epoch: int, lowest: int, highest: int, *, newest: bool
) -> None:
    """It is of the topic that lived meanwhile, if there was only one."""
    told = is_newest(history, highest, Window(lowest, highest), BEFORE_IDS, answer(0, leader_epoch))
    assert told is newest


@pytest.mark.parametrize(
    ("lowest", "highest", "newest"),
    [(1, 5, True), (1, 7, True), (1, 8, False), (6, 7, True), (1, 4, False), (9, 12, False)],
    ids=["while it was deleted", "after", "or created", "long after", "not deleted", "it exists"],
)
def test_a_topic_that_the_broker_does_not_know(
    history: ClusterHistory, lowest: int, highest: int, *, newest: bool
) -> None:
    told = is_newest(history, highest, Window(lowest, highest), WITH_IDS, answer(UNKNOWN_TOPIC))
    assert told is newest
    # another error does not say whether there is such a topic
    told = is_newest(history, highest, Window(lowest, highest), WITH_IDS, answer(DENIED))
    assert told is (lowest >= 5 and newest)
