"""A capture of consumer groups whose files were altered so that they break the rules of epochs and ownership.

As ``broken`` does it with producers: one edit of one file, with its CRC made right again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from altered_files import Batch, Fault, Segment, change_first, segments

from fencepost.formats.batches import records, walk
from fencepost.formats.classify import classify
from fencepost.formats.decode import decode

WHOLE = "subscriptions-4.3.1"
"""The capture that is altered."""

_GROUP, _TARGET = "ConsumerGroupMetadata", "ConsumerGroupTargetAssignmentMetadata"
_MEMBER = "ConsumerGroupCurrentMemberAssignment"
# where a value has what: int16 version and int32 epoch; of a member the int32 epoch before, int8 state, the
# number of topics (a byte), and of each 16 bytes of id, partitions and their assignment epochs
_VALUE_EPOCH, _TOPIC = 2, 12
_TOPIC_SIZE = 16
_STABLE = 0


def _newest(folder: Path, name: str, **wanted: Any) -> tuple[Segment, Batch, int, dict[str, Any]]:
    """The newest record of a type with these fields: where in its batch its value begins, what it says."""
    found = []
    for segment in segments(folder, "__consumer_offsets-0"):
        walked = walk(bytes(segment.data))
        rows = records(bytes(segment.data), walked).records
        named = classify("__consumer_offsets", rows["key"], rows["value"], rows["is_control"])["record_name"]
        for at, told in enumerate(named.to_pylist()):
            value = rows["value"][at].as_py()
            if told != name or value is None:
                continue
            (said,) = decode(name, "value", rows["value"].slice(at, 1)).values.to_pylist()
            batch = segment.batches[rows["batch_index"][at].as_py()]
            start, end = batch["position"], batch["position"] + batch["size"]
            if all(said[key] == expected for key, expected in wanted.items()):
                found.append((segment, batch, segment.data.rindex(value, start, end) - start, said))
    return found[-1]


def group_epoch_falls(folder: Path) -> None:
    segment, batch, at, _ = _newest(folder, _GROUP, epoch=4)
    segment.put(batch, at + _VALUE_EPOCH, ">i", 1)


def target_epoch_falls(folder: Path) -> None:
    segment, batch, at, _ = _newest(folder, _TARGET, assignment_epoch=4)
    segment.put(batch, at + _VALUE_EPOCH, ">i", 1)


def member_epoch_falls(folder: Path) -> None:
    segment, batch, at, _ = _newest(folder, _MEMBER, member_epoch=4, state=_STABLE)
    segment.put(batch, at + _VALUE_EPOCH, ">i", 2)


def member_ahead(folder: Path) -> None:
    segment, batch, at, _ = _newest(folder, _MEMBER, member_epoch=4, state=_STABLE)
    segment.put(batch, at + _VALUE_EPOCH, ">i", 99)


def assigned_in_the_future(folder: Path) -> None:
    segment, batch, at, said = _newest(folder, _MEMBER, member_epoch=4, state=_STABLE)
    count = len(said["assigned_partitions"][0]["partitions"])
    # the partitions behind a byte for their number; a tagged field, of four bytes before its first number
    epochs = at + _TOPIC + _TOPIC_SIZE + 1 + 4 * count + 4
    segment.put(batch, epochs, ">i", 99)


def owned_twice(folder: Path) -> None:
    """A member is assigned the topic that the other one has."""
    segment, batch, at, _ = _newest(folder, _MEMBER, member_epoch=3, state=_STABLE, previous_member_epoch=3)
    _, _, other, _ = held = _newest(folder, _MEMBER, member_epoch=3, state=_STABLE, previous_member_epoch=2)
    theirs = held[1]["position"] + other + _TOPIC
    segment.put(batch, at + _TOPIC, ">16s", bytes(held[0].data[theirs : theirs + _TOPIC_SIZE]))


def stale_and_accepted(folder: Path) -> None:
    """A commit was accepted at an epoch that never was."""

    def change(line: dict[str, Any]) -> bool:
        if set(_errors(line)) != {0}:
            return False
        line["request"]["generationIdOrMemberEpoch"] = 9_999
        return True

    change_first(folder, "OFFSET_COMMIT", change)


def wrong_error(folder: Path) -> None:
    """A commit was refused as if by a classic group: ILLEGAL_GENERATION."""

    def change(line: dict[str, Any]) -> bool:
        if set(_errors(line)) != {113}:
            return False
        text = json.dumps(line["response"]).replace('"errorCode": 113', '"errorCode": 22')
        line["response"] = json.loads(text)
        return True

    change_first(folder, "OFFSET_COMMIT", change)


def _errors(line: dict[str, Any]) -> list[int]:
    return [each["errorCode"] for topic in line["response"]["topics"] for each in topic["partitions"]]


FAULTS: dict[str, Fault] = {
    "group_epoch_never_falls": Fault(group_epoch_falls, frozenset({"epoch_order"})),
    "target_assignment_epoch_never_falls": Fault(target_epoch_falls, frozenset({"epoch_order"})),
    "member_epoch_never_falls": Fault(
        member_epoch_falls,
        # partitions were assigned, and a commit accepted, at the epoch that is not there any more
        frozenset({"assignment_epoch_bound", "partition_revocation_bound", "broker_keeps_its_rule"}),
    ),
    "epoch_order": Fault(member_ahead),
    "assignment_epoch_bound": Fault(assigned_in_the_future),
    "no_partition_owned_twice": Fault(
        owned_twice,
        # what the other member commits is accepted
        frozenset(
            {
                *("no_zombie_accepted", "no_policy_admits_a_zombie", "no_commit_for_anothers_partition"),
                "partition_revocation_bound",
            }
        ),
    ),
    "broker_keeps_its_rule": Fault(stale_and_accepted),
    "broker_names_its_error": Fault(wrong_error),
}
"""The fault that each definition must see.

Real brokers break the others in captures: who was accepted, and who was refused, stands in their requests.
None breaks ``policies_relax_in_order``: tests/protocols/offset_commit/test_broken.py plants it.
"""
