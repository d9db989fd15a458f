"""A topic in a client's cache, and how an answer changes one of its partitions."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.protocols.leader_epoch.answers import PartitionAnswer, TopicAnswer

ANY_USE, NO_USE = "", None
"""What shows that a client took an answer: a topic id that it uses, any use of the topic, or none."""


@dataclass(frozen=True, slots=True)
class Change:
    """A partition of which an answer told another thing than the cache had; ``told`` None: it lacks it.

    ``accepted`` is None where the client may not have had the answer.
    """

    topic: str
    partition: int
    cached_topic_id: str | None
    cached_leader_epoch: int
    cached_gone: bool
    told_topic_id: str | None
    told: PartitionAnswer | None
    error: int
    accepted: bool | None

    @property
    def of_another(self) -> bool:
        """Whether not the same incarnation is told: within one an older leader epoch is never taken."""
        return self.told is None or self.cached_gone or self.told_topic_id != self.cached_topic_id


@dataclass(slots=True)
class CachedTopic:
    """A topic in the cache: what was told of it last, None when it is gone; ``topic_id`` stays.

    ``as_told``: the cache has what the answer says, and nothing else. A thousand clients are told of ten
    thousand partitions, so ``seen`` (lastSeenLeaderEpochs) and ``had`` (the partitions that it ever had) are
    the answer's own while they are None.

    ``since``: how often the cache had been lost when this was so. ``in_doubt``: it is so if the client had
    the last answer, which ``shown_by`` shows. ``kept_in``: the number of the last answer at which the client
    kept the topic for certain. ``unsure``: partitions of which it is not known what epoch it last saw.
    """

    topic_id: str | None
    answer: TopicAnswer | None
    as_told: bool = True
    seen: dict[int, int] | None = None
    had: set[int] | None = None
    since: int = 0
    in_doubt: bool = False
    shown_by: str | None = NO_USE
    kept_in: int = -1
    unsure: frozenset[int] = frozenset()

    @property
    def gone(self) -> bool:
        """Whether the newest answer that named it did not have it."""
        return self.answer is None

    def epochs(self) -> dict[int, int]:
        """``seen``, to be changed."""
        if self.seen is None:
            told = () if self.answer is None else self.answer.partitions
            self.seen = {each.partition: each.leader_epoch for each in told if each.leader_epoch >= 0}
        return self.seen

    def partitions(self) -> set[int]:
        """``had``, to be changed."""
        if self.had is None:
            told = () if self.answer is None else self.answer.partitions
            self.had = {each.partition for each in told}
        return self.had
