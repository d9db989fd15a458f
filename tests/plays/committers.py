"""Players who commit and read: offsets of groups, and records."""

from __future__ import annotations

from typing import Any

from brokers import kafka_uuid
from plays.administrators import list_offset
from plays.calls import Calls
from plays.classic_members import ClassicMembers, client_of
from plays.knowledge import Member, Place, World
from plays.script import Setting, Step
from truth import now_ms

_READER = "reader"
_SURE_MS = 15_000  # sessions last 30 seconds or more


class Committers:
    """Steps of members that commit, and of readers."""

    def __init__(self, calls: Calls, world: World, setting: Setting, classic: ClassicMembers) -> None:
        self.calls, self.world, self.setting, self.classic = calls, world, setting, classic

    def do_commit(self, step: Step) -> None:
        """A commit with a current, stale, future or no epoch, for its own, another's or any partition."""
        group, m = step["g"], self.world.member(step["g"], step["m"])
        self.classic.settle(group, 0.02)
        others = {
            place for n in self.world.members[group].values() if n is not m and n.alive for place in n.has
        }
        place = self._place(step, m, others)
        if place[0] not in self.world.topics or (not m.id and step["epoch"] != "none"):
            return
        alone = step["epoch"] == "none"
        epoch = {"current": m.epoch, "stale": m.epoch - 1, "future": m.epoch + 1, "none": -1}[step["epoch"]]
        version = min(step["v"], 9 if self.setting.release < "4.2" else 10)
        version = max(version, 9) if group[0] in "cs" else version
        name = {"TopicId": self.world.topic_id(place[0], "?")} if version >= 10 else {"Name": place[0]}
        partition = {"PartitionIndex": place[1], "CommittedOffset": step["off"], "CommittedLeaderEpoch": -1}
        message = {
            "GroupId": group,
            "GenerationIdOrMemberEpoch": epoch,
            "MemberId": "" if alone else m.id,
            "GroupInstanceId": None if alone else m.instance,
            "Topics": [{**name, "Partitions": [{**partition, "CommittedMetadata": ""}]}],
        }
        truth = self._truth(group, m, place, step["epoch"])
        knows: dict[str, Any] = {"topic": place[0], "p": place[1], "truth": truth}
        self.calls.call(client_of(m), "OffsetCommit", version, message, ("group", group), **knows)

    def _place(self, step: Step, m: Member, others: set[Place]) -> Place:
        free = sorted(others - m.held)
        if step["own"] == "own" and m.has:
            return sorted(m.has)[int(step["off"]) % len(m.has)]
        if step["own"] == "anothers" and free:
            return free[int(step["off"]) % len(free)]
        return str(step["topic"]), int(step["p"])

    def _truth(self, group: str, m: Member, place: Place, presented: str) -> str | None:
        """``owner`` or ``anothers`` where the players are sure of it."""
        is_told = group[0] in "cs" or group in self.world.stable  # the coordinator tells each member
        unsure = group in self.world.mixed or "short_sessions" in self.setting.options
        if not is_told or unsure or not _is_member(m):
            return None
        live = self.world.topic_id(place[0], "?")
        others = [n for n in self.world.members[group].values() if n is not m and n.alive and place in n.has]
        if place in m.held | m.has:
            is_owner = presented == "current" and place in m.has and m.owned_ids.get(place) == live
            return "owner" if is_owner and not others else None
        is_anothers = any(_is_member(n) and n.owned_ids.get(place) == live for n in others)
        return "anothers" if is_anothers and presented in ("current", "stale") else None

    def do_fetchoff(self, step: Step) -> None:
        group = step["g"]
        m = self.world.member(group, step["m"]) if step["m"] else Member(_READER)
        asked = {"GroupId": group, "Topics": [{"Name": step["topic"], "PartitionIndexes": [step["p"]]}]}
        if step["m"] and group[0] == "c" and m.alive:
            asked |= {"MemberId": m.id, "MemberEpoch": m.epoch}
        message = {"Groups": [asked], "RequireStable": step["stable"]}
        self.calls.call(client_of(m), "OffsetFetch", 9, message, ("group", group))

    def do_list(self, step: Step) -> None:
        list_offset(self.calls, _READER, (step["topic"], step["p"]), step["at"], step["iso"])

    def do_fetch(self, step: Step) -> None:
        """A fetch by the topic's id, by the id of the topic before it, or by name."""
        place = (step["topic"], step["p"])
        end = list_offset(self.calls, _READER, place, -1, 0)
        at = {"start": 0, "middle": end // 2, "end": end, "beyond": end + 5}[step["from"]]
        by_id = step["by"] != "name"
        topic_id = self.world.topic_id(step["topic"], kafka_uuid(), step["by"] == "old id")
        name = {"TopicId": topic_id} if by_id else {"Topic": step["topic"]}
        partition = {
            "Partition": step["p"],
            "FetchOffset": max(at, 0),
            "CurrentLeaderEpoch": -1,
            "PartitionMaxBytes": 1 << 20,
        }
        session = {"SessionId": 0, "SessionEpoch": -1, "IsolationLevel": step["iso"]}
        limits = {"MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1 << 20}
        message = {**limits, **session, "Topics": [{**name, "Partitions": [partition]}]}
        self.calls.call(_READER, "Fetch", 13 if by_id else 12, message, ("partition", *place))


def _is_member(m: Member) -> bool:
    """Whether its session cannot be over yet."""
    return m.alive and now_ms() - m.heard_ms < _SURE_MS
