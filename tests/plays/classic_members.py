"""Players in classic groups: JoinGroup and SyncGroup wait for other members, so their answers come later."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from typing import Any

from group_requests import Subscription, assignment_bytes, read_assignment
from messages import WireError
from plays.calls import Calls
from plays.knowledge import Member, Place, World
from plays.script import Step
from truth import now_ms
from wire import Connection

_REBALANCE_TIMEOUT_MS = 3000


@dataclass(frozen=True)
class _Pending:
    """A request whose answer has not come; ``sent`` is when, and its correlation id."""

    broker: int
    connection: Connection
    version: int
    message: dict[str, Any]
    sent: tuple[int, int]


class ClassicMembers:
    """Steps of members of classic groups; each subscribes with the assignor ``range`` and claims nothing."""

    def __init__(self, calls: Calls, world: World) -> None:
        self.calls, self.world = calls, world
        self._pending: dict[str, _Pending] = {}

    def _post(self, group: str, m: Member, api: str, version: int, message: dict[str, Any]) -> None:
        """A request that waits for other members: its answer is taken when it comes."""
        broker = self.calls.home(("group", group))
        connection = self.calls.connection(m.client, broker)
        sent = now_ms(), connection.send(api, version, message)
        self._pending[m.client] = _Pending(broker, connection, version, message, sent)
        m.waits = api

    def settle(self, group: str, wait: float) -> None:
        """Take the answers that have come; a rebalance is over when nobody waits."""
        until = time.monotonic() + wait
        while waiting := [m for m in self.world.members.get(group, {}).values() if m.waits]:
            sockets = {m.client: self._pending[m.client].connection._socket for m in waiting}
            is_open = [socket for socket in sockets.values() if socket.fileno() >= 0]
            ready, _, _ = select.select(is_open, [], [], max(until - time.monotonic(), 0))
            if not ready and len(is_open) == len(sockets):
                return
            for m in waiting:
                if sockets[m.client] in ready or sockets[m.client] not in is_open:
                    self._take(group, m)

    def _take(self, group: str, m: Member) -> None:
        asked, m.waits = m.waits, None
        pending = self._pending.pop(m.client)
        message, version, sent = pending.message, pending.version, pending.sent
        try:
            answer = pending.connection.receive()
        except (OSError, WireError) as error:
            self.calls.lost(m.client, pending.broker, str(asked), error)
            return
        self.calls.account(m.client, str(asked), version, message, answer, sent=sent)
        error_code = answer["ErrorCode"]
        if asked == "JoinGroup" and error_code == 79:  # the id that it is given
            m.id = answer["MemberId"]
            self._post(group, m, "JoinGroup", version, message | {"MemberId": m.id})
        elif asked == "JoinGroup" and error_code == 0:
            m.id, m.epoch, m.alive, m.has = answer["MemberId"], answer["GenerationId"], True, set()
            m.heard_ms = now_ms()
            m.leads = answer["Members"] if answer["Leader"] == m.id else None
        elif asked == "SyncGroup" and error_code == 0:
            m.has = set(read_assignment(self.calls.cluster.clients_jar, answer["Assignment"] or b""))
            m.owned_ids = {place: self.world.topic_id(place[0], "?") for place in m.has}
        elif error_code in (25, 82):
            m.id = ""
            m.lose()

    def do_kjoin(self, step: Step) -> None:
        group, m = step["g"], self.world.member(step["g"], step["m"])
        self.settle(group, 0.2)
        if m.waits:
            return
        if step["new"]:
            m.id, m.alive = "", False
        if not m.alive:
            m.instance = f"{m.client}" if step["static"] else None
            m.topics, m.session = step["topics"], step["session"]
        self.world.stable.discard(group)
        self.world.mixed |= {group} if group[0] == "c" else set()
        self._join(group, m)
        self.settle(group, 0.2)

    def _join(self, group: str, m: Member) -> None:
        subscription = Subscription(tuple(m.topics)).bytes(self.calls.cluster.clients_jar)
        message = {
            "GroupId": group,
            "SessionTimeoutMs": m.session,
            "RebalanceTimeoutMs": _REBALANCE_TIMEOUT_MS,
            "MemberId": m.id,
            "GroupInstanceId": m.instance,
            "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": subscription}],
            "Reason": "a play",
        }
        self._post(group, m, "JoinGroup", 9, message)

    def do_ksync(self, step: Step) -> None:
        m = self.world.member(step["g"], step["m"])
        self.settle(step["g"], 0.2)
        if not m.waits and m.id:
            self._sync(step["g"], m)
            self.settle(step["g"], 0.2)

    def _sync(self, group: str, m: Member) -> None:
        given: dict[str, set[Place]] = {}
        if m.leads is not None:
            ids = sorted(told["MemberId"] for told in m.leads)
            given = {member_id: set() for member_id in ids}
            places = [(topic, p) for topic in sorted(m.topics) for p in range(self.world.parts.get(topic, 0))]
            for number, place in enumerate(places):
                given[ids[number % len(ids)]].add(place)
        jar = self.calls.cluster.clients_jar
        data = [
            {"MemberId": i, "Assignment": assignment_bytes(jar, places, 1)} for i, places in given.items()
        ]
        protocol = {"ProtocolType": "consumer", "ProtocolName": "range"}
        self._post(group, m, "SyncGroup", 5, identity(group, m) | protocol | {"Assignments": data})

    def do_kround(self, step: Step) -> None:
        """A whole rebalance, as the clients would do it: all join, then all sync, the leader last but one."""
        group = step["g"]
        self.world.stable.discard(group)
        living = [m for m in self.world.members.get(group, {}).values() if m.alive or m.waits]
        for m in living:
            if not m.waits:
                self._join(group, m)
        self.settle(group, 4.0)
        for m in sorted(living, key=lambda m: m.leads is None):
            if not m.waits and m.id:
                self._sync(group, m)
        self.settle(group, 2.0)
        epochs = {m.epoch for m in living}
        if len(epochs) == 1 and all(m.alive and not m.waits for m in living):
            self.world.stable.add(group)

    def do_kbeat(self, step: Step) -> None:
        group, m = step["g"], self.world.member(step["g"], step["m"])
        self.settle(group, 0.05)
        message = identity(group, m) | {"GenerationId": m.epoch - (step["epoch"] == "stale")}
        self.calls.call(client_of(m), "Heartbeat", 4, message, ("group", group))

    def do_kleave(self, step: Step) -> None:
        """It leaves, or its process is gone without a word."""
        group, m = step["g"], self.world.member(step["g"], step["m"])
        self.settle(group, 0.05)
        self.world.stable.discard(group)
        if not step["silent"] and m.id and not m.waits:
            gone = {"MemberId": m.id, "GroupInstanceId": m.instance, "Reason": "a play"}
            self.calls.call(
                m.client, "LeaveGroup", 5, {"GroupId": group, "Members": [gone]}, ("group", group)
            )
        self.calls.drop(m.client)
        m.waits = None
        m.lose()


def identity(group: str, m: Member) -> dict[str, Any]:
    """The identity of a member in its requests."""
    return {"GroupId": group, "GenerationId": m.epoch, "MemberId": m.id, "GroupInstanceId": m.instance}


def client_of(m: Member) -> str:
    """The client that sends a member's next request: another connection while one waits."""
    return f"{m.client}-2" if m.waits else m.client
