"""What the players of a script know: topics and their ids, producers and their epochs, members and theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int]
"""A partition: topic, index."""


@dataclass
class Producer:
    """What one instance of a producer knows of itself. ``before`` is the identity that it had before."""

    producer_id: int = -1
    epoch: int = -1
    before: tuple[int, int] = (-1, -1)
    fenced: bool = False

    def identity(self, which: str) -> tuple[int, int]:
        """The ``current``, ``stale`` or ``next`` producer id and epoch."""
        if which == "stale":
            return self.before if self.before[0] >= 0 else (self.producer_id, max(self.epoch - 1, 0))
        return (self.producer_id, self.epoch + 1) if which == "next" else (self.producer_id, self.epoch)

    def move(self, producer_id: int, epoch: int) -> None:
        """A new identity, as a coordinator gave it."""
        self.fenced = False
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.before = (self.producer_id, self.epoch)
            self.producer_id, self.epoch = producer_id, epoch


@dataclass
class Member:
    """What one member of a group knows of itself.

    ``has`` is its assignment; ``held`` also has what it must give up, and has not yet confirmed.
    ``owned_ids`` are the topic ids under which it was assigned a partition. ``leads`` are the members that
    it assigns. ``waits`` is the request whose answer has not come. ``heard_ms`` is when its coordinator last
    confirmed that it is a member: after a while its session may be over.
    """

    client: str
    id: str = ""
    epoch: int = -1
    has: set[Place] = field(default_factory=set)
    held: set[Place] = field(default_factory=set)
    owned_ids: dict[Place, str] = field(default_factory=dict)
    topics: list[str] = field(default_factory=list)
    instance: str | None = None
    leads: list[dict[str, Any]] | None = None
    waits: str | None = None
    session: int = 30_000
    alive: bool = False
    heard_ms: int = 0

    def lose(self) -> None:
        """It is no member any more."""
        self.alive, self.has, self.held, self.owned_ids = False, set(), set(), {}


@dataclass
class World:
    """Everything that the players know.

    ``stable`` are the classic groups whose members have all synced, ``mixed`` the groups that members of both
    protocols have joined.
    """

    topics: dict[str, list[str]] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    producers: dict[tuple[str, int], Producer] = field(default_factory=dict)
    sequences: dict[tuple[Any, ...], int] = field(default_factory=dict)
    members: dict[str, dict[str, Member]] = field(default_factory=dict)
    stable: set[str] = field(default_factory=set)
    mixed: set[str] = field(default_factory=set)

    def member(self, group: str, name: str) -> Member:
        """A member, which may have never joined."""
        return self.members.setdefault(group, {}).setdefault(name, Member(f"{group}-{name}"))

    def topic_id(self, topic: str, unknown: str, old: bool = False) -> str:
        """The id of the topic's last incarnation, or of the one before; ``unknown`` if it never was."""
        ids = self.topics.get(topic) or [unknown]
        return ids[-2] if old and len(ids) > 1 else ids[-1]
