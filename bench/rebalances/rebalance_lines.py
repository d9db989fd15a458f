"""The request log of a group's rebalances: the request and the answer of each member."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

from rebalance_bytes import PROTOCOL
from rebalance_group import Client, Rebalance

_Api = tuple[int, str, int]
"""API key, Kafka's name, version."""

JOIN, HEARTBEAT, LEAVE, SYNC = (
    (11, "JOIN_GROUP", 9), (12, "HEARTBEAT", 4), (13, "LEAVE_GROUP", 5), (14, "SYNC_GROUP", 5),
)  # fmt: skip
_JOINED_MS, _ABANDONED_MS, _SYNCED_MS, _BEATS_MS = 3_200, 1_500, 3_510, 8_000
_MEMBER_ID_REQUIRED = 79


class _Join(NamedTuple):
    """A JoinGroup request: its subscription, the times of request and answer, and the answer."""

    subscription: str
    came: int
    done: int
    generation: int | None = None
    members: str = "[]"


class Lines:
    """Writes the lines of each rebalance, in the order in which they were completed.

    ``joins``: the truth about each JoinGroup: the coordinator's generation, and whether it had the member.
    After an abandoned generation all members join a second time.
    """

    def __init__(self, group: str, file: TextIO, subscription: Callable[[Client], bytes]) -> None:
        """``subscription``: a client's last one."""
        self._group, self._file, self._subscription = group, file, subscription
        self._lines: list[tuple[int, str]] = []
        self._correlation = 0
        self.count = 0
        self.joins: list[dict[str, Any]] = []

    def write(self, each: Rebalance, begun_ms: int, assignments: Mapping[Client, bytes]) -> None:
        """Write a rebalance that begins at this time."""
        subscriptions = {client: b64encode(self._subscription(client)).decode() for client in each.members}
        members_json = (
            "[" + ",".join(_member_json(client, subscriptions[client]) for client in each.members) + "]"
        )
        for member_id in each.left:
            sent = {"groupId": self._group, "members": [_id(member_id)]}
            answer = {"errorCode": 0, "members": [{**_id(member_id), "errorCode": 0}]}
            self._say(LEAVE, member_id, (begun_ms - 5, begun_ms - 3), _json(sent), _json(answer))
        for number, client in enumerate(each.joined):
            new = client in each.new
            if new and client.instance_id is None:
                self._join(
                    each, client, _Join(subscriptions[client], begun_ms + number, begun_ms + number + 1)
                )
        for generation in range(each.first, each.generation + 1):
            last = generation == each.generation
            answered = begun_ms + (_JOINED_MS if last else _ABANDONED_MS)
            arrives = begun_ms if generation == each.first else begun_ms + _ABANDONED_MS + 20
            for number, client in enumerate(each.joined):
                members = members_json if client is each.leader else "[]"
                came = arrives + 10 + number % (_ABANDONED_MS - 100)
                done = answered + number % 10
                self._join(each, client, _Join(subscriptions[client], came, done, generation, members))
        for number, client in enumerate(each.joined):
            self._sync(each, client, begun_ms + _SYNCED_MS + number % 20, assignments)
            beat = {"groupId": self._group, "generationId": each.generation, "memberId": client.member_id}
            at = begun_ms + _BEATS_MS + number
            sent = _json({**beat, "groupInstanceId": client.instance_id})
            fine = '{"throttleTimeMs":0,"errorCode":0}'
            self._say(HEARTBEAT, client.client_id, (at, at + 1), sent, fine)
        self._lines.sort(key=lambda line: line[0])
        self._file.writelines(line for _, line in self._lines)
        self.count += len(self._lines)
        self._lines = []

    def _join(self, each: Rebalance, client: Client, join: _Join) -> None:
        """A JoinGroup that is answered with a generation, or with a member id if that is None."""
        generation = join.generation
        asks = generation is None
        again = generation is not None and generation > each.first
        nameless = asks or (client in each.new and client.instance_id is not None and not again)
        member_id = "" if nameless else client.member_id
        sent = (
            f'{{"groupId":"{self._group}","sessionTimeoutMs":45000,"rebalanceTimeoutMs":300000,"memberId":'
            f'"{member_id}","groupInstanceId":{_json(client.instance_id)},"protocolType":"consumer",'
            f'"protocols":[{{"name":"{PROTOCOL}","metadata":"{join.subscription}"}}],"reason":null}}'
        )
        answer = (
            f'{{"throttleTimeMs":0,"errorCode":{_MEMBER_ID_REQUIRED if asks else 0},"generationId":'
            f'{-1 if generation is None else generation},"protocolType":{"null" if asks else _CONSUMER},'
            f'"protocolName":{"null" if asks else _PROTOCOL},"leader":'
            f'"{"" if asks else each.leader.member_id}","skipAssignment":false,'
            f'"memberId":"{client.member_id}","members":{join.members}}}'
        )
        self._say(JOIN, client.client_id, (join.came, join.done), sent, answer)
        self.joins.append(
            {
                "client_id": client.client_id,
                "requested_ms": join.came,
                "member_id": member_id,
                "answered_member_id": client.member_id,
                "error": "MEMBER_ID_REQUIRED" if asks else "NONE",
                "response_generation": -1 if generation is None else generation,
                "presented_generation": client.sent[1],
                "claims_held": len(client.sent[0]),
                "current_generation": (each.first if generation is None else generation) - 1,
                "member_known": not nameless,
            }
        )

    def _sync(
        self, each: Rebalance, client: Client, done_ms: int, assignments: Mapping[Client, bytes]
    ) -> None:
        listed = "[]"
        if client is each.leader:
            all_ = (
                f'{{"memberId":"{other.member_id}","assignment":"{b64encode(data).decode()}"}}'
                for other, data in assignments.items()
            )
            listed = f"[{','.join(all_)}]"
        sent = (
            f'{{"groupId":"{self._group}","generationId":{each.generation},"memberId":"{client.member_id}",'
            f'"groupInstanceId":{_json(client.instance_id)},"protocolType":"consumer","protocolName":'
            f'"{PROTOCOL}","assignments":{listed}}}'
        )
        answer = (
            f'{{"throttleTimeMs":0,"errorCode":0,"protocolType":"consumer","protocolName":"{PROTOCOL}",'
            f'"assignment":"{b64encode(assignments[client]).decode()}"}}'
        )
        self._say(SYNC, client.client_id, (done_ms - 100, done_ms), sent, answer)

    def _say(self, api: _Api, client_id: str, between: tuple[int, int], sent: str, answer: str) -> None:
        came, done = between
        self._correlation += 1
        at, (key, name, version) = datetime.fromtimestamp(done // 1000, UTC), api
        self._lines.append(
            (
                done,
                f"[{at:%Y-%m-%d %H:%M:%S},{done % 1000:03}] DEBUG Completed request:"
                f'{{"isForwarded":false,"requestHeader":{{"requestApiKey":{key},"requestApiVersion":{version},'
                f'"correlationId":{self._correlation},"clientId":"{client_id}","requestApiKeyName":"{name}"}},'
                f'"request":{sent},"response":{answer},'
                f'"connection":"127.0.0.1:9092-127.0.0.1:40000-{client_id}-1","totalTimeMs":{done - came}.0,'
                '"requestQueueTimeMs":0.1,"localTimeMs":0.3,"remoteTimeMs":0.0,"throttleTimeMs":0,"responseQueueTimeMs":0.05,"sendTimeMs":0.1,"securityProtocol":'
                '"PLAINTEXT","principal":"User:app","listener":"PLAINTEXT","clientInformation":'
                '{"softwareName":"apache-kafka-java","softwareVersion":"3.9.1"}} (kafka.request.logger)\n',
            )
        )


_CONSUMER, _PROTOCOL = '"consumer"', f'"{PROTOCOL}"'


def _member_json(client: Client, subscription: str) -> str:
    """A member in the answer to the leader."""
    instance = _json(client.instance_id)
    return f'{{"memberId":"{client.member_id}","groupInstanceId":{instance},"metadata":"{subscription}"}}'


def _id(member_id: str) -> dict[str, Any]:
    return {"memberId": member_id, "groupInstanceId": None}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
