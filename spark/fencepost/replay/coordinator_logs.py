"""The incarnations of the coordinators' topics: whoever deletes ``__consumer_offsets`` or
``__transaction_state`` makes the coordinators forget everything, and the next topic of the name has new logs.

States and requests belong to one incarnation. Offsets of two logs have no order, and a key may have another
partition, since the partition is a hash modulo their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.replay.histories import Point
from fencepost.replay.logs import Stretch
from fencepost.replay.metadata import Moment

UNDECIDED = -1
"""The place of the incarnation that decided a request, if time cannot tell which one it was."""

FIRST_LIFE, _OF_PARTITION = 1 << 50, 1 << 36
"""How far the numbers of lives lie apart in successive incarnations, and in partitions of one: more than a
log has offsets.
"""

ALWAYS = 2**62
"""Later than every time."""


@dataclass(frozen=True, slots=True)
class CoordinatorTerm:
    """The batches that one leader wrote into a partition: ``led_by`` is its broker id, None if not known."""

    partition: int
    leader_epoch: int
    led_by: int | None
    first_ms: int
    last_ms: int
    last_offset: int


@dataclass(frozen=True)
class Incarnation:
    """One incarnation of a coordinators' topic.

    ``topic_id`` is None if it is not known. ``number``: how many known ones came before. ``removed_by`` and
    ``removed_on``: the client that requested the deletion, and its connection, if known. ``ended_ms``: when
    it was deleted, None while it exists or if that is not known; by the controller's clock, or, if no
    metadata log has the deletion, by that of the next incarnation's first record. ``whole``: the partitions
    whose logs were captured up to their deletion.
    """

    topic_id: str | None = None
    number: int = 0
    partitions: int | None = None
    created: Moment | None = None
    removed: Moment | None = None
    removed_by: str | None = None
    removed_on: str | None = None
    ended_ms: int | None = None
    is_gone: bool = False
    terms: tuple[CoordinatorTerm, ...] = ()
    whole: frozenset[int] = frozenset()

    def first_life(self, partition: int | None = None) -> int:
        """What is added to the offset of a life's first record, which names the life. ``partition``: that of
        the log, for a group of which several have records.
        """
        return self.number * FIRST_LIFE + (partition or 0) * _OF_PARTITION

    @property
    def has_begun(self) -> bool:
        """Whether it is known when the logs began: without a record of its creation there may have been an
        earlier incarnation, which decided what was asked before their first records.
        """
        return self.created is not None or self.number > 0

    @property
    def named_in_ids(self) -> str | None:
        """What ids of records have besides the offset: None for the first incarnation, so that they stay the
        same when there is another one.
        """
        return self.topic_id if self.number else None

    def end_of(self, partition: int) -> int | None:
        """The offset after the last one of a partition's log; None if nothing was captured of it."""
        lasts = [term.last_offset for term in self.terms if term.partition == partition]
        return max(lasts) + 1 if lasts else None

    def misses_end_of(self, partition: int | None) -> bool:
        """Whether the end of a partition's log is missing: it was deleted before it was captured."""
        return self.is_gone and partition not in self.whole


ONLY = Incarnation()
"""Stands for the only incarnation of a topic."""

UNKNOWN = Incarnation(is_gone=True)
"""Stands for the incarnation that decided a request of which time cannot tell which one it was."""


def end_of_log(stretches: Mapping[int, Stretch], incarnation: Incarnation) -> Point | None:
    """Where everything ends that a log tells of, because the log was deleted; None if it was not."""
    if not stretches or not incarnation.is_gone:
        return None
    last = stretches[max(stretches)]
    newest_ms = max(stretch.newest_ms for stretch in stretches.values())
    return Point(last.last_offset + 1, max(incarnation.ended_ms or newest_ms, newest_ms))


@dataclass(frozen=True)
class CoordinatorLogs:
    """The incarnations of one cluster's coordinators' topic, in order. The first one may be one that nothing
    is known of, which has no topic id.
    """

    incarnations: tuple[Incarnation, ...] = (ONLY,)
    tolerance_ms: int = 0
    _bounds: dict[tuple[int, tuple[int | None, ...]], Sequence[tuple[int, int]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def are_several(self) -> bool:
        """Whether the topic had more than one incarnation."""
        return len(self.incarnations) > 1

    def of(self, topic_id: str | None) -> Incarnation:
        """The incarnation with a topic id; the last one for a log without an id."""
        found = [each for each in self.incarnations if topic_id is not None and each.topic_id == topic_id]
        return found[0] if found else self.incarnations[-1]

    def deciding(
        self, partitions: tuple[int | None, ...], broker_id: int, requested_ms: int, responded_ms: int
    ) -> int:
        """The place among ``incarnations`` of the one that decided a request; UNDECIDED if it may have been
        one or another. Times are of the answering broker's clock. ``partitions``: where each incarnation
        keeps the group or transactional id.

        A request was decided before an incarnation's end if the broker wrote a later record into it, and
        after the begin of the next one if the broker wrote an earlier record into that. Where the controller
        is the same node, the times at which topics were created and removed count, too.
        """
        if not self.are_several:
            return 0
        bounds = self._bounds.get((broker_id, partitions))
        if bounds is None:
            bounds = self._bounds[broker_id, partitions] = self._bounds_of(broker_id, partitions)
        start_ms = requested_ms - self.tolerance_ms
        least = sum(gone < start_ms for _, gone in bounds)
        most = sum(exists <= responded_ms for exists, _ in bounds)
        return least if least == most else UNDECIDED

    def _bounds_of(self, broker_id: int, partitions: Sequence[int | None]) -> list[tuple[int, int]]:
        """For each incarnation but the first: a time before which it did not decide requests, and one after
        which those before it did not.
        """
        firsts, lasts = [], []
        for incarnation, partition in zip(self.incarnations, partitions, strict=True):
            own = [
                term
                for term in incarnation.terms
                if term.led_by == broker_id or (term.led_by is None and term.partition == partition)
            ]
            firsts.append(min((term.first_ms for term in own), default=ALWAYS))
            lasts.append(max((term.last_ms for term in own), default=-ALWAYS))
        bounds = []
        for number in range(1, len(self.incarnations)):
            exists, gone = max(lasts[:number]), min(firsts[number:])
            removed, created = self.incarnations[number - 1].removed, self.incarnations[number].created
            if removed is not None and removed.node_id == broker_id:
                exists = max(exists, removed.ms)
            if created is not None and created.node_id == broker_id:
                exists, gone = max(exists, created.ms), min(gone, created.ms + self.tolerance_ms)
            # clocks that were set back contradict each other: between the two times nothing is known
            bounds.append((min(exists, gone), max(exists, gone)))
        return bounds
