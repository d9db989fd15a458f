"""The member epoch, or the generation of a classic group, that a member's answers give it."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.requests import NO_MEMBER, CommitRequest
from fencepost.replay.group_coordinator.requests import JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP

Answer = HeartbeatAnswer | MemberLine

_WRONG_EPOCH = frozenset({"ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "FENCED_MEMBER_EPOCH"})


class AnsweredEpoch(NamedTuple):
    """A member's state as its newest answer gives it.

    ``epoch``: the member epoch, or the generation. ``rebalancing``: whether the group waits for its
    assignment; None if no answer says so. ``assigned_by``: the answer with the member's assignment; None if
    the log has none. ``consumer``: whether the member is known to be a consumer. ``instance_id``: of a static
    member.

    ``until_ms``: None if a later line shows that it is still a member; otherwise the earliest moment, by its
    broker's clock, at which its session may expire. The next record shows whether it left before that.
    ``shown``: whether a later line shows that it had this epoch still; otherwise only no line shows another.
    ``met_again``: whether a later coordinator, which loaded the group, answered it as a member of this epoch.
    """

    group_type: str
    epoch: int
    rebalancing: bool | None
    assigned_by: Answer | None
    consumer: bool = True
    instance_id: str | None = None
    until_ms: int | None = None
    shown: bool = False
    met_again: bool = False

    def is_against(self, request: CommitRequest) -> bool:
        """Whether the broker refused a request that this state would have it accept as its member's, or as
        one of its current epoch.
        """
        # a member of a classic group never gets its id again
        stays = self.until_ms is None and self.group_type == "classic"
        if not stays and request.answers & NO_MEMBER:
            return True
        return request.client_epoch == self.epoch and bool(request.answers & _WRONG_EPOCH)


def answered_epoch(line: Answer, before: AnsweredEpoch | None) -> AnsweredEpoch | None:
    """A member's state after this answer; ``before`` is its state before. None if that is not certain."""
    epoch = epoch_of(line)
    if epoch is None:
        return None
    if isinstance(line, HeartbeatAnswer):
        kept = before.assigned_by if before is not None and not line.joins else None
        return AnsweredEpoch(line.group_type, epoch, False, kept if line.assigned is None else line)
    same = before is not None and before.epoch == epoch and not joins(line)
    # older clients send their protocol type only when they join
    consumer = before.consumer if same and before and line.protocol_type is None else _is_consumer(line)
    if line.api_key == SYNC_GROUP:
        return AnsweredEpoch("classic", epoch, False, line if consumer else None, consumer, line.instance_id)
    return before if same else AnsweredEpoch("classic", epoch, None, None, consumer, line.instance_id)


def _is_consumer(line: MemberLine) -> bool:
    return line.protocol_type == "consumer"


def epoch_of(line: Answer) -> int | None:
    """The epoch, or generation, that the member certainly had when the broker answered; None if unknown."""
    if isinstance(line, HeartbeatAnswer):
        return line.member_epoch
    if line.api_key == LEAVE_GROUP or (line.api_key == JOIN_GROUP and not line.fine):
        return None
    return line.generation


def joins(line: Answer) -> bool:
    """Whether the member's request asked to join: for a new epoch, or for the next generation."""
    return line.joins if isinstance(line, HeartbeatAnswer) else line.api_key == JOIN_GROUP


def stays(line: Answer) -> bool:
    """Whether a broker gives this answer only to a current member of the group."""
    if isinstance(line, HeartbeatAnswer):
        return line.leaves or (line.member_epoch is not None and not line.joins)
    return line.fine and line.named
