"""Every message that the lab sends or reads survives its own encoding, in every version of it."""

from __future__ import annotations

import base64

import pytest
from brokers import jars
from messages import Reader, Schema, WireError, api, decode, encode, structure, within

VERSIONS = ("4.3.1", "4.2.1")
"""The Kafka versions whose jars every test run has."""

NAMES = (
    "AddOffsetsToTxn",
    "AddPartitionsToTxn",
    "AlterPartition",
    "AlterPartitionReassignments",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "ConsumerGroupHeartbeat",
    "CreatePartitions",
    "CreateTopics",
    "DeleteGroups",
    "DeleteTopics",
    "DescribeQuorum",
    "DescribeTopicPartitions",
    "DescribeTransactions",
    "ElectLeaders",
    "EndTxn",
    "Fetch",
    "FindCoordinator",
    "Heartbeat",
    "IncrementalAlterConfigs",
    "InitProducerId",
    "JoinGroup",
    "LeaveGroup",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
    "Produce",
    "ShareGroupHeartbeat",
    "StreamsGroupHeartbeat",
    "SyncGroup",
    "TxnOffsetCommit",
    "WriteTxnMarkers",
)
# OffsetCommit v8, laid out by hand: compact lengths are one more than the size.
OFFSET_COMMIT_V8 = bytes.fromhex(
    "0267 00000003 026d 00 02 0274 02 00000001 0000000000000007 ffffffff 01 00 00 00"
)


def _both(version: str, name: str) -> tuple[Schema, Schema]:
    called = api(next(jars(version).glob("kafka-clients-*.jar")), name)
    return called.request, called.response


@pytest.mark.parametrize("kafka", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_round_trip(kafka: str, name: str) -> None:
    for schema in _both(kafka, name):
        for version in range(schema.versions[0], schema.versions[1] + 1):
            flexible = within(version, schema.flexible)
            empty = {
                f.name: [] if f.empty() is None and not within(version, f.nullable) else f.empty()
                for f in schema.fields
                if within(version, f.versions)
            }
            data = encode(schema.fields, empty, version, flexible)
            reader = Reader(data)
            decoded = decode(schema.fields, reader, version, flexible)
            assert {name: decoded[name] for name in empty} == empty
            assert reader.position == len(data)


def test_golden_bytes() -> None:
    partition = {"PartitionIndex": 1, "CommittedOffset": 7, "CommittedMetadata": ""}
    topics = [{"Name": "t", "Partitions": [partition]}]
    message = {"GroupId": "g", "GenerationIdOrMemberEpoch": 3, "MemberId": "m", "Topics": topics}
    assert encode(_both("4.3.1", "OffsetCommit")[0].fields, message, 8, True) == OFFSET_COMMIT_V8


def test_a_field_of_another_version_is_an_error() -> None:
    fields = _both("4.3.1", "OffsetCommit")[0].fields
    with pytest.raises(WireError, match="no field \\['TopicId'\\] in version 9"):
        encode(fields, {"Topics": [{"TopicId": "A" * 22, "Partitions": []}]}, 9, True)


def test_a_subscription_is_what_a_real_consumer_sends() -> None:
    # Seen in the JoinGroup of a real member of a cooperative group that owns nothing yet.
    seen = base64.b64decode("AAMAAAABAAF0AAAABP////8AAAAA////////")
    jar = next(jars("4.3.1").glob("kafka-clients-*.jar"))
    message = {"Topics": ["t"], "UserData": b"\xff\xff\xff\xff", "OwnedPartitions": [], "GenerationId": -1}
    fields = structure(jar, "ConsumerProtocolSubscription").fields
    assert b"\0\3" + encode(fields, message, 3, False) == seen
