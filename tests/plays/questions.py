"""What Kafka itself says: of the groups and ids of a play when it ends, of everything before the stop."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from plays.calls import Answer, Calls
from plays.members import sources
from truth import now_ms

_CLIENT = "lab-tools"
_ENDED = ("Empty", "CompleteCommit", "CompleteAbort")


class Questions:
    """Asks Kafka's describing APIs, and keeps the answers as facts ``answers``."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def ask(self, label: str | None = None) -> None:
        """Of the names of one play, or of everything."""
        told: dict[str, Any] = {
            "of": label,
            "groups": self._groups(label),
            "transactions": self._transactions(label),
        }
        if label is None:
            told |= self._topics()
            told["offsets"] = [row for group in self._known(told["groups"]) for row in self._offsets(group)]
        self.calls.fact("answers", **told)

    def _call(
        self, api: str, version: int, message: dict[str, Any], to: tuple[Any, ...] = ("any",)
    ) -> Answer:
        return self.calls.call(_CLIENT, api, version, message, to) or {}

    def _everywhere(self, api: str, version: int, message: dict[str, Any]) -> list[Answer]:
        running = self.calls.cluster.running()
        return [self._call(api, version, message, ("broker", broker.broker_id)) for broker in running]

    def _transactions(self, label: str | None) -> list[dict[str, Any]]:
        filters = {"StateFilters": [], "ProducerIdFilters": [], "DurationFilter": -1}
        listed = self._everywhere("ListTransactions", 1, filters)
        ids = [t["TransactionalId"] for answer in listed for t in answer.get("TransactionStates", ())]
        found = []
        for name in sorted(set(ids)):
            if label is not None and not name.endswith(f"-{label}"):
                continue
            asked = now_ms()
            answer = self._call(
                "DescribeTransactions", 0, {"TransactionalIds": [name]}, ("transaction", name)
            )
            for t in answer.get("TransactionStates", ()):
                if t["ErrorCode"] == 0:
                    places = sorted(f"{x['Topic']}:{p}" for x in t["Topics"] for p in x["Partitions"])
                    told = {
                        "id": name,
                        "state": t["TransactionState"],
                        "partitions": places,
                        "asked": [asked, now_ms()],
                    }
                    found.append({**told, "pid": t["ProducerId"], "epoch": t["ProducerEpoch"]})
        return found

    def _groups(self, label: str | None) -> list[dict[str, Any]]:
        listed = self._everywhere("ListGroups", 5, {"StatesFilter": [], "TypesFilter": []})
        kinds = {g["GroupId"]: g["GroupType"].lower() for answer in listed for g in answer.get("Groups", ())}
        wanted = {name: kind for name, kind in kinds.items() if label is None or name.endswith(f"-{label}")}
        return [
            told for name, kind in sorted(wanted.items()) if (told := self._group(name, kind)) is not None
        ]

    def _known(self, described: list[dict[str, Any]]) -> list[str]:
        """Also groups that Kafka does not list: a JoinGroup that is refused can hide an empty one."""
        asked = (fact["request"].get("GroupId") for fact in self.calls.facts if fact["event"] == "request")
        return sorted({group["id"] for group in described} | {group for group in asked if group})

    def _group(self, name: str, kind: str) -> dict[str, Any] | None:
        asked = now_ms()
        if kind == "classic":
            answer = self._call("DescribeGroups", 5, {"Groups": [name]}, ("group", name))
        else:
            api = {
                "consumer": "ConsumerGroupDescribe",
                "streams": "StreamsGroupDescribe",
                "share": "ShareGroupDescribe",
            }[kind]
            answer = self._call(api, 1 if kind == "share" else 0, {"GroupIds": [name]}, ("group", name))
        if not answer or answer["Groups"][0]["ErrorCode"]:
            return None
        (group,) = answer["Groups"]
        members = {
            m["MemberId"]: {"epoch": m.get("MemberEpoch"), "has": _has(m, kind, name)}
            for m in group["Members"]
        }
        epoch = group.get("GroupEpoch")
        return {
            "id": name,
            "type": kind,
            "state": group["GroupState"],
            "epoch": epoch,
            "members": members,
            "asked": [asked, now_ms()],
        }

    def _offsets(self, group: str) -> Iterable[list[Any]]:
        asked = {"Groups": [{"GroupId": group, "Topics": None}], "RequireStable": False}
        answer = self._call("OffsetFetch", 9, asked, ("group", group))
        for told, topic in ((g, t) for g in answer.get("Groups", ()) for t in g["Topics"]):
            for p in topic["Partitions"]:
                if p["CommittedOffset"] >= 0:
                    yield [told["GroupId"], topic["Name"], p["PartitionIndex"], p["CommittedOffset"]]

    def _topics(self) -> dict[str, Any]:
        """Topic ids; of each partition start, end and last stable offset; what holds back the last."""
        found = self._call("Metadata", 12, {"Topics": None})["Topics"]
        led = [
            (p["LeaderId"], t["Name"], p["PartitionIndex"])
            for t in found
            for p in t["Partitions"]
            if p["LeaderId"] > 0
        ]
        partitions: dict[tuple[str, int], list[int]] = {}
        producers: list[list[Any]] = []
        for leader, places in itertools.groupby(sorted(led), key=lambda place: place[0]):
            chosen = [(topic, p) for _, topic, p in places]
            for place in chosen:
                partitions[place] = []
            for at, isolation in ((-2, 0), (-1, 0), (-1, 1)):
                for place, offset in self._ends(leader, chosen, at, isolation):
                    partitions[place].append(offset)
            producers += self._producers(leader, chosen)
        return {
            "topics": {t["Name"]: t["TopicId"] for t in found},
            "partitions": [[*place, *offsets] for place, offsets in partitions.items()],
            "producers": producers,
        }

    def _ends(
        self, leader: int, places: list[tuple[str, int]], at: int, isolation: int
    ) -> Iterable[tuple[tuple[str, int], int]]:
        part = {"CurrentLeaderEpoch": -1, "Timestamp": at}
        topics = [
            {"Name": topic, "Partitions": [{"PartitionIndex": p, **part} for p in parts]}
            for topic, parts in _by_topic(places)
        ]
        message = {"ReplicaId": -1, "IsolationLevel": isolation, "Topics": topics}
        answer = self._call("ListOffsets", 7, message, ("broker", leader))
        return [
            ((t["Name"], p["PartitionIndex"]), p["Offset"]) for t in answer["Topics"] for p in t["Partitions"]
        ]

    def _producers(self, leader: int, places: list[tuple[str, int]]) -> list[list[Any]]:
        topics = [{"Name": topic, "PartitionIndexes": parts} for topic, parts in _by_topic(places)]
        answer = self._call("DescribeProducers", 0, {"Topics": topics}, ("broker", leader))
        return [
            [t["Name"], p["PartitionIndex"], a["ProducerId"], a["ProducerEpoch"], a["CurrentTxnStartOffset"]]
            for t in answer["Topics"]
            for p in t["Partitions"]
            for a in p["ActiveProducers"]
        ]


def is_open(transaction: dict[str, Any]) -> bool:
    """Whether a described transaction has not ended."""
    return transaction["state"] not in _ENDED


def _by_topic(places: list[tuple[str, int]]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [p for _, p in found])
        for topic, found in itertools.groupby(sorted(places), key=lambda place: place[0])
    ]


def _has(member: dict[str, Any], kind: str, group: str) -> list[str]:
    """The partitions of a described member as ``topic:partition``; a deleted topic has no name."""
    if kind == "consumer":
        topics = member["Assignment"]["TopicPartitions"]
        return sorted(f"{t['TopicName']}:{p}" for t in topics for p in t["Partitions"] if t["TopicName"])
    if kind == "streams":
        names = sources(group)
        tasks = member["Assignment"]["ActiveTasks"]
        return sorted(f"{names.get(t['SubtopologyId'], '?')}:{p}" for t in tasks for p in t["Partitions"])
    return []
