"""Signs of life of a group's static members, and how long the coordinator keeps one that is silent then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.members import Step
from fencepost.replay.group_coordinator.requests import LEAVE_GROUP
from fencepost.replay.metadata import ClusterMetadata

_OF_GROUP, _OF_BROKER = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"


class _Sign(NamedTuple):
    ms: int
    broker_id: int


class SignsOfLife:
    """The newest sign of life of each member of one group, and its session timeout.

    A heartbeat that the coordinator answers begins the member's session anew (GroupMetadataManager
    .scheduleConsumerGroupSessionTimeout), as the requests of a classic member do.
    """

    def __init__(
        self, heartbeats: Sequence[HeartbeatAnswer], lines: Sequence[MemberLine], metadata: ClusterMetadata
    ) -> None:
        self._group_id = next((each.group_id for of in (heartbeats, lines) for each in of), None)
        self._heartbeats, self._lines, self._metadata = heartbeats, lines, metadata

    def of_static(self, member_id: str, step: Step) -> tuple[int | None, int | None]:
        """The time in ms of the newest sign of a static member, and its session timeout in ms; None where
        one is not known, and of a member that is not static.
        """
        sign = self._newest.get(member_id) if step.instance_id is not None else None
        if sign is None:
            return None, None
        return sign.ms, step.session_timeout_ms or self._of_consumer(step, sign)

    def client_of(self, member_id: str) -> str | None:
        """client.id of a member of a classic group, as its own requests say; None if no line has one."""
        return self._clients.get(member_id)

    @cached_property
    def _clients(self) -> dict[str, str]:
        own = (line for line in self._lines if line.fine and line.api_key != LEAVE_GROUP)
        return {line.member_id: line.client_id for line in own if line.client_id is not None}

    @cached_property
    def _newest(self) -> dict[str, _Sign]:
        """By member; most groups have no static member."""
        newest: dict[str, _Sign] = {}
        for member_id, sign in self._signs():
            newest[member_id] = max(newest.get(member_id, sign), sign)
        return newest

    def _signs(self) -> Iterable[tuple[str, _Sign]]:
        for answer in self._heartbeats:
            if answer.member_epoch is not None:
                yield answer.member_id, _Sign(answer.responded_ms, answer.broker_id)
        for line in self._lines:
            if line.fine and line.api_key != LEAVE_GROUP:
                yield line.member_id, _Sign(line.responded_ms, line.broker_id)

    def _of_consumer(self, step: Step, sign: _Sign) -> int | None:
        """The session timeout of a member of the consumer protocol: the least that it may have had."""
        if step.protocol != "consumer" or self._group_id is None:
            return None
        groups, brokers = self._metadata.group_configs, self._metadata.configs
        values = groups.between(_OF_GROUP, self._group_id, sign.ms, sign.ms)
        if values is None and groups.is_unset(_OF_GROUP, self._group_id, sign.ms, sign.ms):
            values = brokers.between(_OF_BROKER, sign.broker_id, sign.ms, sign.ms)
        return min(map(int, values)) if values and all(each.isdigit() for each in values) else None
