"""A hand-made member of a classic group, which may claim anything; a leader reports the claims
that it gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assignors import Claims, Given
from brokers import LabError
from group_requests import (
    JOIN,
    NEWEST_SUBSCRIPTION,
    Identity,
    Joining,
    Subscription,
    assignment_bytes,
    heartbeat,
    join_group,
    leave_group,
    read_assignment,
    read_subscription,
    sync_group,
)
from lab_client import LabClient, Posted
from messages import Message
from partition_requests import Ask
from truth import Partition

if TYPE_CHECKING:
    from rebalance_groups import RebalanceGroup

COOPERATIVE, RANGE, STICKY = "cooperative-sticky", "range", "sticky"
_BROKER = 1
_BEFORE_MEMBER_IDS = 4
"""Older clients join at once; a newer one is given a member id first."""


@dataclass
class Member:
    """One member; its claims follow from its assignment, unless ``claims`` are given.

    ``version`` is that of its subscriptions and assignments; ``dated`` puts the generation of the claims into
    the user data of versions that have no field for it; ``raw`` is sent instead of a subscription.
    """

    group: RebalanceGroup
    client: LabClient
    topics: tuple[str, ...]
    strategies: tuple[str, ...] = (COOPERATIVE,)
    version: int = NEWEST_SUBSCRIPTION
    dated: bool = True
    instance_id: str | None = None
    session_timeout_ms: int = 30_000
    rebalance_timeout_ms: int = 30_000
    protocol_type: str = "consumer"
    raw: bytes | None = None
    join_version: int = JOIN
    reason: str | None = None
    member_id: str = ""
    generation: int = -1
    owned: frozenset[Partition] = frozenset()
    claims: frozenset[Partition] | None = None
    claimed_generation: int | None = None
    strategy: str = ""
    leader: str = ""
    seen: dict[str, Claims] = field(default_factory=dict, repr=False)
    _posted: Posted | None = field(default=None, repr=False)
    _heard: Message = field(default_factory=dict, repr=False)

    def claim(self, partitions: frozenset[Partition] | None, generation: int | None = None) -> Member:
        """From now on claim these partitions with this generation; None: claim the real ones."""
        self.claims, self.claimed_generation = partitions, generation
        return self

    def join(self) -> None:
        """Send JoinGroup; its answer comes when every member has sent one, or after the rebalance timeout."""
        if not self.member_id and self.instance_id is None and self.join_version >= _BEFORE_MEMBER_IDS:
            (row,) = self.client.ask(_BROKER, self._joining())
            if row["error"] != "MEMBER_ID_REQUIRED":
                raise LabError(f"{self.client.client_id}: {row}")
            self.member_id = row["told"]["member_id"]
        self._posted = self.client.post(_BROKER, self._joining())

    def joined(self) -> str:
        """Wait for the answer to ``join``; the error by Kafka's name."""
        error = self._answer()
        if error == "NONE":
            self.member_id, self.generation = self._heard["MemberId"], self._heard["GenerationId"]
            self.strategy, self.leader = self._heard["ProtocolName"], self._heard["Leader"]
            self.group.generation = self.generation
            if self.is_leader:
                self.seen = self._members(self._heard["Members"])
                self.group.account.joined(self.generation, self.strategy, self.member_id, self.seen)
        return error

    @property
    def is_leader(self) -> bool:
        """Whether it is the leader of its generation."""
        return self.member_id == self.leader

    def sync(self, given: Given | None = None) -> None:
        """Send SyncGroup, as the leader with everybody's assignment."""
        jar = self.group.stage.cluster.clients_jar
        versions = {m.member_id: m.version for m in self.group.members}
        assignments = {
            member_id: assignment_bytes(jar, partitions, versions.get(member_id, NEWEST_SUBSCRIPTION))
            for member_id, partitions in (given or {}).items()
        }
        if given is not None:
            self.group.account.assigned(self.generation, given)
        protocol = (self.protocol_type, self.strategy)
        self._posted = self.client.post(_BROKER, sync_group(self.identity, protocol, assignments, self._hear))

    def synced(self) -> str:
        """Wait for the answer to ``sync``; its partitions are owned from now on."""
        error = self._answer(unless="NONE")  # the account of generations has what it gives
        if error == "NONE":
            jar = self.group.stage.cluster.clients_jar
            self.owned = read_assignment(jar, self._heard["Assignment"])
            self.group.account.synced(self.generation)
        return error

    def heartbeat(self) -> str:
        """The error of a heartbeat, by Kafka's name."""
        (row,) = self.client.collect(self.client.post(_BROKER, heartbeat(self.identity)), unless="NONE")
        return str(row["error"])

    def leave(self) -> None:
        """Leave the group."""
        self.client.ask(_BROKER, leave_group(self.identity, "the member has no more to do"))
        self.group.members.remove(self)

    def give_up(self) -> None:
        """Read an answer that has arrived already, wait for no other, and disconnect without leaving the
        group.
        """
        if self._posted is not None:
            self._posted.connection.give_up()
            self._answer()
        self.member_id = ""

    def forget_membership(self) -> None:
        """React to UNKNOWN_MEMBER_ID as a client does; its claims may stay."""
        self.member_id = ""

    @property
    def identity(self) -> Identity:
        """Its identity in requests."""
        return Identity(self.group.group_id, self.member_id, self.instance_id, self.generation)

    def subscription(self, strategy: str) -> Subscription:
        """Its subscription for one assignor."""
        claims = self.owned if self.claims is None else self.claims
        generation = self.generation if self.claimed_generation is None else self.claimed_generation
        said = Subscription(self.topics, version=self.version, raw=self.raw)
        if strategy == STICKY:
            dated = generation if self.dated else None
            return replace(said, generation=generation, previous=claims, previous_generation=dated)
        if strategy == RANGE:
            return replace(said, generation=generation)
        user_data = generation if self.dated and strategy == COOPERATIVE else None
        return replace(said, claims=claims, generation=generation, sticky_generation=user_data)

    def _joining(self) -> Ask:
        jar = self.group.stage.cluster.clients_jar
        said = [(name, self.subscription(name)) for name in self.strategies]
        how = Joining(
            [(name, each.bytes(jar)) for name, each in said],
            said[0][1],
            self.protocol_type,
            self.session_timeout_ms,
            self.rebalance_timeout_ms,
            self.reason,
            self.join_version,
            self.group.generation,
        )
        return join_group(self.identity, how, self._hear)

    def _hear(self, answer: Message) -> None:
        self._heard = answer

    def _answer(self, unless: str | None = None) -> str:
        if self._posted is None:
            raise LabError(f"{self.client.client_id} waits for no answer")
        posted, self._posted = self._posted, None
        (row,) = self.client.collect(posted, unless)
        return str(row["error"])

    def _members(self, told: Sequence[Message]) -> dict[str, Claims]:
        jar = self.group.stage.cluster.clients_jar
        return {
            m["MemberId"]: Claims.of(
                m["GroupInstanceId"],
                self.strategy,
                None if m["Metadata"] in self.group.unreadable else read_subscription(jar, m["Metadata"]),
            )
            for m in told
        }
