"""The epoch, or the generation, that an answer gives its member."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.replay.group_coordinator.requests import JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP

Answer = HeartbeatAnswer | MemberLine


class AnsweredEpoch(NamedTuple):
    """What a member was told last: its epoch, or the generation; whether the group waits for its assignment,
    None where that was not told; the answer with what it was assigned, None where none was seen; whether it
    is known to be a consumer; the instance id of a static member.

    ``until_ms``: None where a later line shows it to be a member still, else when its time may be over, by
    its broker's clock: the next record says whether it left before that.
    """

    group_type: str
    epoch: int
    rebalancing: bool | None
    assigned_by: Answer | None
    consumer: bool = True
    instance_id: str | None = None
    until_ms: int | None = None


def answered_epoch(line: Answer, before: AnsweredEpoch | None) -> AnsweredEpoch | None:
    """What a member has been told with this answer, after all ``before``; None where that is not certain."""
    epoch = epoch_of(line)
    if epoch is None:
        return None
    if isinstance(line, HeartbeatAnswer):
        kept = before.assigned_by if before is not None and not line.joins else None
        return AnsweredEpoch(line.group_type, epoch, False, kept if line.assigned is None else line)
    same = before is not None and before.epoch == epoch and not joins(line)
    # older clients say what they are only when they join
    consumer = before.consumer if same and before and line.protocol_type is None else _is_consumer(line)
    if line.api_key == SYNC_GROUP:
        return AnsweredEpoch("classic", epoch, False, line if consumer else None, consumer, line.instance_id)
    return before if same else AnsweredEpoch("classic", epoch, None, None, consumer, line.instance_id)


def _is_consumer(line: MemberLine) -> bool:
    return line.protocol_type == "consumer"


def epoch_of(line: Answer) -> int | None:
    """The epoch, or generation, that the member certainly had when this was answered."""
    if isinstance(line, HeartbeatAnswer):
        return line.member_epoch
    if line.api_key == LEAVE_GROUP or (line.api_key == JOIN_GROUP and not line.fine):
        return None
    return line.generation


def joins(line: Answer) -> bool:
    """Whether the member asked for a new epoch, or for the next generation."""
    return line.joins if isinstance(line, HeartbeatAnswer) else line.api_key == JOIN_GROUP


def stays(line: Answer) -> bool:
    """Whether only who is a member still is answered so."""
    if isinstance(line, HeartbeatAnswer):
        return line.leaves or (line.member_epoch is not None and not line.joins)
    return line.fine and line.named
