"""A topic in a client's cache, and how an answer changes one of its partitions."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.protocols.leader_epoch.answers import PartitionAnswer, TopicAnswer

ANY_USE, NO_USE = "", None
"""``CachedTopic.shown_by`` where it is no topic id: any use of the topic shows the answer, or no use does."""


@dataclass(frozen=True, slots=True)
class Change:
    """A partition about which an answer differs from the cache; ``answer`` is None where the answer lacks it.

    ``cached_gone``: the newest answer before this one lacked the topic. ``accepted``: whether the client took
    the answer into its cache; None where it may not have got the answer.
    """

    topic: str
    partition: int
    cached_topic_id: str | None
    cached_leader_epoch: int
    cached_gone: bool
    told_topic_id: str | None
    answer: PartitionAnswer | None
    error: int
    accepted: bool | None

    @property
    def of_another(self) -> bool:
        """Whether the answer is not of the cached incarnation. Within one incarnation a client never takes an
        older leader epoch.
        """
        return self.answer is None or self.cached_gone or self.told_topic_id != self.cached_topic_id


@dataclass(slots=True)
class CachedTopic:
    """A topic in the cache: the newest answer about it, None when that answer lacks it; ``topic_id`` stays.

    ``as_answered``: the cache has what the answer says, and nothing else. A thousand clients may get answers
    about ten thousand partitions each, so these two are None as long as the answer alone tells them:
    ``seen``, the newest leader epoch by partition (lastSeenLeaderEpochs), and ``ever_had``, all partitions
    that the cache ever had.

    ``losses``: how often the cache had been lost when it got this answer. ``in_doubt``: the client may not
    have got the newest answer; ``shown_by`` says what would show that it did: the use of this topic id,
    ANY_USE or NO_USE. ``kept_in``: the number of the last answer at which the client certainly kept the
    topic. ``unsure``: partitions whose last seen epoch is not known.
    """

    topic_id: str | None
    answer: TopicAnswer | None
    as_answered: bool = True
    seen: dict[int, int] | None = None
    ever_had: set[int] | None = None
    losses: int = 0
    in_doubt: bool = False
    shown_by: str | None = NO_USE
    kept_in: int = -1
    unsure: frozenset[int] = frozenset()

    @property
    def gone(self) -> bool:
        """Whether the newest answer that should have the topic did not have it."""
        return self.answer is None

    def epochs(self) -> dict[int, int]:
        """``seen`` as a dict of this client alone, which the caller may change."""
        if self.seen is None:
            answered = () if self.answer is None else self.answer.partitions
            self.seen = {each.partition: each.leader_epoch for each in answered if each.leader_epoch >= 0}
        return self.seen

    def partitions(self) -> set[int]:
        """``ever_had`` as a set of this client alone, which the caller may change."""
        if self.ever_had is None:
            answered = () if self.answer is None else self.answer.partitions
            self.ever_had = {each.partition for each in answered}
        return self.ever_had
