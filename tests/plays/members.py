"""Players in groups whose coordinator assigns: consumer groups (KIP-848), streams groups, share groups."""

from __future__ import annotations

from typing import Any

from brokers import kafka_uuid
from plays.calls import Answer, Calls
from plays.knowledge import Member, Place, World
from plays.script import Step
from truth import now_ms

_API = {
    "c": ("ConsumerGroupHeartbeat", 1),
    "k": ("ConsumerGroupHeartbeat", 1),  # a classic group, which it converts
    "s": ("StreamsGroupHeartbeat", 0),
    "h": ("ShareGroupHeartbeat", 1),
}
"""The heartbeat of a group, by the first letter of its name."""

_UNKNOWN_MEMBER, _FENCED_INSTANCE, _FENCED_EPOCH, _UNRELEASED = 25, 82, 110, 111


def sources(group: str) -> dict[str, str]:
    """The source topic of each subtopology of a streams group: two topics of its play."""
    label = group.rpartition("-")[2]
    return {"0": f"a-{label}", "1": f"b-{label}"}


class Members:
    """Steps of members; ``as`` says which epoch one presents, ``ack`` whether it confirms what it has."""

    def __init__(self, calls: Calls, world: World) -> None:
        self.calls, self.world = calls, world

    def do_beat(self, step: Step) -> None:
        group, m, joins = step["g"], self.world.member(step["g"], step["m"]), step["as"] == "join"
        if (not joins and not m.alive) or m.waits:
            return
        self.world.mixed |= {group} if group[0] == "k" else set()
        if joins and (step["new"] or not m.id or not m.alive):
            m.id = kafka_uuid() if step["new"] or not m.id else m.id
            m.instance, m.topics = (
                (m.client if step["static"] and group[0] != "h" else m.instance),
                step["topics"],
            )
        if step.get("subscribe"):
            m.topics = step["topics"]
        away = -2 if m.instance else -1
        presents = {
            "join": 0,
            "current": m.epoch,
            "stale": m.epoch - 1,
            "future": m.epoch + 1,
            "leave": -1,
            "away": away,
        }
        epoch = presents[step["as"]]
        api, version = _API[group[0]]
        answer = self.calls.call(m.client, api, version, self._message(step, m, epoch), ("group", group))
        if answer is not None:
            self._hear(step, m, epoch, answer)

    def _message(self, step: Step, m: Member, epoch: int) -> dict[str, Any]:
        group, joins = step["g"], step["as"] == "join"
        subscribed = m.topics if joins or step.get("subscribe") else None
        who: dict[str, Any] = {"GroupId": group, "MemberId": m.id, "MemberEpoch": epoch}
        if group[0] == "h":
            return {**who, "SubscribedTopicNames": subscribed}
        who |= {"InstanceId": m.instance, "RebalanceTimeoutMs": 30_000 if joins else -1}
        confirmed: set[Place] | None = set() if joins else m.has if step["ack"] and epoch > 0 else None
        if group[0] == "s":
            return who | _streams(group, joins, confirmed)
        assignor = {"SubscribedTopicNames": subscribed, "ServerAssignor": "uniform" if joins else None}
        return {
            **who,
            **assignor,
            "TopicPartitions": None if confirmed is None else self._by_id(m, confirmed),
        }

    def _by_id(self, m: Member, places: set[Place]) -> list[dict[str, Any]]:
        topics: dict[str, list[int]] = {}
        for place in sorted(places):
            topics.setdefault(m.owned_ids.get(place, kafka_uuid()), []).append(place[1])
        return [{"TopicId": topic, "Partitions": parts} for topic, parts in topics.items()]

    def _hear(self, step: Step, m: Member, epoch: int, answer: Answer) -> None:
        error = answer["ErrorCode"]
        if error in (_UNKNOWN_MEMBER, _FENCED_EPOCH, _UNRELEASED, _FENCED_INSTANCE):
            if not (m.alive and error == _FENCED_EPOCH and step["as"] in ("stale", "future")):
                m.lose()
        elif error == 0 and epoch < 0:
            m.lose()
        elif error == 0:
            if epoch == 0:
                m.lose()
            m.alive, m.epoch, m.heard_ms = True, answer["MemberEpoch"], now_ms()
            if step["ack"] and epoch > 0:
                m.held = set(m.has)
            given = self._given(step["g"], answer)
            if given is not None:
                m.held |= m.has | given.keys()
                m.has = set(given)
                m.owned_ids |= given

    def _given(self, group: str, answer: Answer) -> dict[Place, str] | None:
        """The assignment in an answer, with the topic id of each partition; None if it is as before."""
        if group[0] == "s":
            tasks, topics = answer["ActiveTasks"], sources(group)
            if tasks is None:
                return None
            places = [(topics[t["SubtopologyId"]], p) for t in tasks for p in t["Partitions"]]
            return {place: self.world.topic_id(place[0], "?") for place in places}
        if answer["Assignment"] is None:
            return None
        names = {topic_id: topic for topic, ids in self.world.topics.items() for topic_id in ids}
        told = [(t["TopicId"], p) for t in answer["Assignment"]["TopicPartitions"] for p in t["Partitions"]]
        return {(names.get(topic_id, topic_id), p): topic_id for topic_id, p in told}


def _streams(group: str, joins: bool, confirmed: set[Place] | None) -> dict[str, Any]:
    """What a member of a streams group says beside its identity: two subtopologies, one topic each."""
    topics = sources(group)
    tasks = {
        number: sorted(p for topic, p in confirmed or () if topic == source)
        for number, source in topics.items()
    }
    active = [{"SubtopologyId": number, "Partitions": parts} for number, parts in tasks.items() if parts]
    none: list[Any] | None = None if confirmed is None else []
    said = {"ActiveTasks": None if confirmed is None else active, "StandbyTasks": none, "WarmupTasks": none}
    if not joins:
        return said
    subtopologies = [{"SubtopologyId": number, "SourceTopics": [topic]} for number, topic in topics.items()]
    return said | {
        "ProcessId": kafka_uuid(),
        "ClientTags": [],
        "Topology": {"Epoch": 0, "Subtopologies": subtopologies},
    }
