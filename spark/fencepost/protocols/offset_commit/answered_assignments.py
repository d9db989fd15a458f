"""What members were assigned, by answers and by the requests of leaders, where the records of it are gone."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.protocols.offset_commit.answered_epochs import Answer, AnsweredEpoch, answered_epoch
from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.replay.group_coordinator.assignments import assigned_topics
from fencepost.replay.group_coordinator.requests import JOIN_GROUP, SYNC_GROUP
from fencepost.replay.keys import topic_key
from fencepost.replay.metadata import Topics

Keys = frozenset[str]
Owners = Mapping[tuple[str, int], Sequence[str]]
"""(Topic, partition) -> the members to which a leader assigned it. A classic group owns names, whichever
topic has the name.
"""


class Revocations(NamedTuple):
    """What was revoked from a member since it joined: the revocation epoch (KAFKA-19779), and for each
    partition that ever left it the last epoch at which it did.
    """

    member: int = 0
    partitions: Mapping[str, int] = {}


_NOTHING = Revocations()


class AnsweredAssignments:
    """The assignments of the members of one group."""

    def __init__(self, answers: Iterable[Answer], topics: Topics) -> None:
        self._topics = topics
        self._answers: dict[str, list[Answer]] = {}
        self._of_leaders: dict[int, list[MemberLine]] = {}
        for answer in answers:
            self._answers.setdefault(answer.member_id, []).append(answer)
            if isinstance(answer, MemberLine) and answer.assignments and answer.fine:
                self._of_leaders.setdefault(answer.generation or 0, []).append(answer)
        self._owners: dict[MemberLine, Owners | None] = {}
        self._revocations: dict[str, Mapping[tuple[int, Answer], Revocations]] = {}

    def keys(self, answer: Answer) -> Keys | None:
        """Keys of the partitions that an answer assigns; None if it has no assignment."""
        if isinstance(answer, HeartbeatAnswer):
            return answer.assigned
        if answer.assignment is None:
            return None
        return self._keys(answer, answer.assignment)

    def with_assignment(self, member_id: str, answered: AnsweredEpoch, before_ms: int) -> AnsweredEpoch:
        """The same, with the answer that has the member's assignment if that was on another connection: where
        its answers are all there, and only one has an assignment at this epoch, from before this time.
        """
        if answered.assigned_by is not None:
            return answered
        by = [each for epoch, each in self._revocations_of(member_id) if epoch == answered.epoch]
        is_only = len(by) == 1 and by[0].responded_ms < before_ms
        return answered._replace(assigned_by=by[0]) if is_only else answered

    def owners(self, member_id: str, answered: AnsweredEpoch) -> Owners | None:
        """The assignment of the classic generation that the member has its own of; None if the leader's
        request is not known.
        """
        if answered.group_type != "classic" or answered.assigned_by is None:
            return None
        for line in self._of_leaders.get(answered.epoch, ()):
            if any(each == member_id for each, _ in line.assignments):
                if line not in self._owners:
                    self._owners[line] = _owners_in(line)
                return self._owners[line]
        return None

    def revocations(self, member_id: str, answered: AnsweredEpoch) -> Revocations | None:
        """What was revoked from a member until it had its present epoch and assignment; None if it is not
        certain that its answers since it joined are all there.
        """
        if answered.assigned_by is None:
            return None
        return self._revocations_of(member_id).get((answered.epoch, answered.assigned_by))

    def _revocations_of(self, member_id: str) -> Mapping[tuple[int, Answer], Revocations]:
        if member_id not in self._revocations:
            self._revocations[member_id] = dict(_revocations(self._answers.get(member_id, ()), self))
        return self._revocations[member_id]

    def _keys(self, line: MemberLine, message: bytes) -> Keys | None:
        (topics,) = assigned_topics([message])
        if message and topics is None:
            return None
        keys = []
        for topic, partitions in topics or ():
            topic_id = self._topics.id_at(topic, line.responded_ms)
            if topic_id != self._topics.id_during(topic, line.requested_ms, line.responded_ms):
                return None
            keys += [topic_key(topic_id, topic, partition) for partition in partitions]
        return frozenset(key for key in keys if key is not None)


def _owners_in(line: MemberLine) -> Owners | None:
    owners: dict[tuple[str, int], list[str]] = {}
    try:
        messages = [b64decode(each, validate=True) for _, each in line.assignments]
    except ValueError:
        return None
    for (member_id, _), message, topics in zip(
        line.assignments, messages, assigned_topics(messages), strict=True
    ):
        if message and topics is None:
            return None
        for topic, partitions in topics or ():
            for partition in partitions:
                owners.setdefault((topic, partition), []).append(member_id)
    return owners


def _revocations(
    answers: Iterable[Answer], assignments: AnsweredAssignments
) -> Iterator[tuple[tuple[int, Answer], Revocations]]:
    """The revocations of one member by its epoch and the answer with its assignment, from its first answer
    on until one is missing.
    """
    ordered = sorted(answers, key=lambda each: (each.responded_ms, each.file, each.position))
    answered, chain = None, _Chain()
    for line in ordered:
        answered = answered_epoch(line, answered)
        if isinstance(line, MemberLine) and line.gives_id:
            continue
        if answered is None or line.broker_id != ordered[0].broker_id:
            return
        begins = chain.epoch is None and _joins_as_new(line, ordered[0])
        if not begins and not chain.is_continued_by(line, answered.epoch):
            return
        if isinstance(line, MemberLine) and line.api_key != SYNC_GROUP:
            chain.epoch = answered.epoch if begins else chain.epoch
            continue
        now = assignments.keys(line)
        if now is None and (chain.owned is None or isinstance(line, MemberLine)):
            return
        chain.go_on(chain.owned if now is None else now, answered.epoch)
        if answered.assigned_by is not None:
            yield (answered.epoch, answered.assigned_by), chain.known


@dataclass(slots=True)
class _Chain:
    """A member's assignments one after the other: the newest one, its epoch, and what was revoked so far.

    ``left``: a partition has left the member in this epoch.
    """

    epoch: int | None = None
    owned: Keys | None = None
    known: Revocations = _NOTHING
    left: bool = False

    def is_continued_by(self, line: Answer, epoch: int) -> bool:
        """Whether no answer is missing in between. A heartbeat presents the epoch of the answer before; a
        classic member has an assignment in each of its generations.
        """
        if self.epoch is None:
            return False
        if isinstance(line, HeartbeatAnswer):
            return not line.joins and line.presented == self.epoch
        newest = self.epoch if self.owned is None else self.epoch + 1
        return line.api_key != SYNC_GROUP or self.epoch <= epoch <= newest

    def go_on(self, owned: Keys | None, epoch: int) -> None:
        """Take the next assignment: as Member.replay does with records."""
        before = epoch if self.epoch is None else self.epoch
        lost = (self.owned or frozenset()) - (owned or frozenset())
        self.left = self.left or bool(lost)
        rises = epoch > before
        member = before if rises and self.left else self.known.member
        if lost or member != self.known.member:
            self.known = Revocations(member, {**self.known.partitions, **dict.fromkeys(lost, before)})
        self.left = self.left and not rises
        self.owned, self.epoch = owned, epoch


def _joins_as_new(line: Answer, first: Answer) -> bool:
    """Whether a member's first answer, perhaps after the one that gave it its id, lets it in."""
    if isinstance(line, HeartbeatAnswer):
        return line.joins
    given = isinstance(first, MemberLine) and first.gives_id
    return line.api_key == JOIN_GROUP and (given or not line.named)
