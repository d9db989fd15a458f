"""O3: the marts have what Kafka's describing APIs say, of each play when it ended and at last of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from plays.calls import Fact
from plays.members import sources
from plays.oracles.case import Case, Fault, differ, evidence, millis
from plays.questions import is_open

_TOLERANCE_MS = 60
_QUESTIONS_MS = 2000  # that the last questions take
_OUTCOMES: dict[str, set[str | None]] = {
    "CompleteCommit": {"committed"},
    "CompleteAbort": {"aborted"},
    "Empty": {"committed", "aborted", None},
}


def state(case: Case) -> Iterator[Fault]:
    """Groups and producer epochs of every answer; offsets, topics, partitions, outcomes of the last."""
    for told in case.answers():
        for group in told["groups"]:
            yield from _group(case, group)
        for transaction in told["transactions"]:
            yield from _epoch(case, transaction)
    last = case.last_answers
    if last is not None:
        yield from _offsets(case, last)
        yield from _partitions(case, last)
        yield from _dangling(case, last)
        yield from _transactions(case, last)


class _During:
    """Which rows were true at some moment, or all the time, while a question was asked.

    Rows have times of brokers' clocks.
    """

    def __init__(self, case: Case, asked: list[int]) -> None:
        self.least, self.most = case.ahead_ms
        self.first, self.last = asked[0] - _TOLERANCE_MS, asked[1] + _TOLERANCE_MS

    def perhaps(self, row: dict[str, Any]) -> bool:
        begin, end = millis(row["from_time"]), millis(row["to_time"])
        return (begin is None or begin <= self.last + self.most) and (
            end is None or end >= self.first + self.least
        )

    def surely(self, row: dict[str, Any]) -> bool:
        begin, end = millis(row["from_time"]), millis(row["to_time"])
        return (
            begin is not None
            and begin <= self.first + self.least
            and (end is None or end >= self.last + self.most)
        )


def _group(case: Case, group: dict[str, Any]) -> Iterator[Fault]:
    """A static member that is away has epoch -2 and is listed; the marts have none."""
    during, name, kind = _During(case, group["asked"]), group["id"], group["type"]
    if kind == "classic" and group["state"] not in ("Stable", "Empty"):
        return
    rows = [row for row in case.rows["members"] if row["group_id"] == name]
    present = {m: d["epoch"] for m, d in group["members"].items() if kind == "classic" or d["epoch"] >= 0}
    found = {(row["member_id"], row["member_epoch"]) for row in rows if during.perhaps(row)}
    missing = {
        m for m, epoch in present.items() if not any(m == n and (epoch in (None, e)) for n, e in found)
    }
    extra = {row["member_id"] for row in rows if during.surely(row)} - group["members"].keys()
    if missing or extra:
        differs = {"missing": sorted(missing), "extra": sorted(extra), "marts": sorted(map(str, found))}
        yield {
            "fault": f"O3:members_{kind}",
            "group": name,
            "asked": group["asked"],
            "kafka": present,
            **differs,
        }
    if kind in ("consumer", "streams"):
        yield from _owned(case, group, during)


def _owned(case: Case, group: dict[str, Any], during: _During) -> Iterator[Fault]:
    """Kafka leaves out the partitions of deleted topics, and shows some before they are confirmed."""
    last = case.last_answers
    live = set(last["topics"].values()) if last else set()
    rows = [row for row in case.rows["owned"] if row["group_id"] == group["id"]]
    names = sources(group["id"])

    def place(row: dict[str, Any]) -> tuple[str, str]:
        return row[
            "member_id"
        ], f"{row['topic'] or names.get(row['subtopology_id'], row['topic_id'])}:{row['partition']}"

    told = {(m, p) for m, d in group["members"].items() if d["epoch"] >= 0 for p in d["has"]}
    missing = told - {place(row) for row in rows if during.perhaps(row)}
    sure = {
        place(row)
        for row in rows
        if during.surely(row) and not row["pending_revocation_since"] and row["topic_id"] in live | {None}
    }
    if missing or sure - told:
        yield {
            "fault": f"O3:owned_{group['type']}",
            "group": group["id"],
            "kafka_only": sorted(missing),
            "marts_only": sorted(sure - told),
        }


def _epoch(case: Case, told: dict[str, Any]) -> Iterator[Fault]:
    """The identity of a transactional id while it was asked for."""
    during = _During(case, told["asked"])
    rows = [
        row for row in case.rows["epochs"] if row["transactional_id"] == told["id"] and during.perhaps(row)
    ]
    if rows and (told["pid"], told["epoch"]) not in {
        (row["producer_id"], row["producer_epoch"]) for row in rows
    }:
        marts = [(row["producer_id"], row["producer_epoch"]) for row in rows]
        yield {"fault": "O3:epoch", "id": told["id"], "kafka": (told["pid"], told["epoch"]), "marts": marts}


def _offsets(case: Case, last: Fact) -> Iterator[Fault]:
    told = {tuple(row) for row in last["offsets"]}
    hidden = _forgotten(case) - {group["id"] for group in last["groups"]} - {row[0] for row in told}
    found = {
        (r["group_id"], r["topic"], r["partition"], r["committed_offset"])
        for r in case.rows["offsets"]
        if r["is_stored"] and r["group_id"] not in hidden
    }
    found -= {row for row in found - told if row[:3] in _dropped(case)}
    yield from differ("O3:offsets", told, found)
    live = {(row["topic"], row["topic_id"]) for row in case.rows["topics"] if row["is_live"]}
    yield from differ("O3:topics", set(last["topics"].items()), live)


def _forgotten(case: Case) -> set[str]:
    """Groups of which a coordinator has no memory until it reads its log again: a refused JoinGroup makes it
    forget an empty consumer group, without a record.
    """
    refused = (
        fact["request"]["GroupId"]
        for fact in case.requests()
        if fact["api"] == "JoinGroup" and "UNKNOWN_MEMBER_ID" in fact["errors"]
    )
    return set(refused)


def _dropped(case: Case) -> set[tuple[str, str, int]]:
    """Offsets that a transaction had pending when their topic was deleted: a coordinator before Kafka 4
    forgets them without a record, and has them again when it reads its log.
    """
    deleted: dict[str, int] = {}
    for fact in case.requests():
        if fact["api"] == "DeleteTopics":
            deleted |= {topic["Name"]: fact["ts_ms"] for topic in fact["request"]["Topics"]}
    return {
        (fact["request"]["GroupId"], topic["Name"], each["PartitionIndex"])
        for fact in case.requests()
        if fact["api"] == "TxnOffsetCommit" and case.script.setting.release < "4"
        for topic in fact["request"]["Topics"]
        for each in topic["Partitions"]
        if fact["ts_ms"] < deleted.get(topic["Name"], 0)
    }


def _partitions(case: Case, last: Fact) -> Iterator[Fault]:
    """Log ends and last stable offsets; ``log_start_offset`` is that of the captured segments.

    A transaction that timed out after the question wrote its markers after it.
    """
    found = {(row["partition_key"], row["partition"]): row for row in case.rows["extents"]}
    ended = {
        place
        for row in case.rows["transactions"]
        if (millis(row["prepared_at"]) or 0) > last["ts_ms"] - _QUESTIONS_MS + case.ahead_ms[0]
        for place in row["transaction_partitions"] or ()
    }
    for topic, p, *offsets in last["partitions"]:
        if topic.startswith("__") or len(offsets) < 3 or f"{topic}:{p}" in ended:
            continue
        row = found.get((f"{last['topics'][topic]}:{p}", p))
        if row is None:
            if offsets[1] > offsets[2]:  # without a producer that is idempotent there is no row
                yield {"fault": "O3:no_extent", "place": [topic, p], "kafka": offsets}
            continue
        for name, value in (("log_end_offset", offsets[1]), ("last_stable_offset", offsets[2])):
            if row[name] != value:
                unknown = "unknown_" if row[name] is None else ""
                differs = {"kafka": offsets, "marts": row[name], "held_by": row["held_by"]}
                yield {"fault": f"O3:{unknown}{name}", "place": [topic, p], **differs}


def _dangling(case: Case, last: Fact) -> Iterator[Fault]:
    """What is open at a partition, and no coordinator will end. Where that is unknown, it is only counted."""
    hangs, listed = (
        hanging(last),
        {(row["topic"], row["partition"], row["producer_id"]) for row in case.rows["dangling"]},
    )
    missed = hangs - listed - unsure_of_hanging(case).keys()
    told_only = listed - hangs - _given_up(last)
    for name, places in (("dangling_by_marts_only", told_only), ("dangling_missed", missed)):
        if places:
            yield {"fault": f"O3:{name}", "places": sorted(places)}


def hanging(last: Fact) -> set[tuple[str, int, int]]:
    """Topic, partition and producer id of what is open at a partition, and no coordinator will end.

    A coordinator that is in an epoch before that of the records cannot: the partition refuses its marker.
    """
    known = {
        (t["pid"], place): t["epoch"] for t in last["transactions"] if is_open(t) for place in t["partitions"]
    }
    open_ones = [(t, p, pid, epoch) for t, p, pid, epoch, first in last["producers"] if first >= 0]
    return {(t, p, pid) for t, p, pid, epoch in open_ones if known.get((pid, f"{t}:{p}"), -1) < epoch}


def _given_up(last: Fact) -> set[tuple[str, int, int]]:
    """What is open at the epoch with which its coordinator has prepared the end: from 4.2 on the partition
    refuses that marker, and the coordinator sends it no more.
    """
    prepared = {
        (t["pid"], t["epoch"], place)
        for t in last["transactions"]
        if t["state"].startswith("Prepare")
        for place in t["partitions"]
    }
    open_ones = [(t, p, pid, epoch) for t, p, pid, epoch, first in last["producers"] if first >= 0]
    return {(t, p, pid) for t, p, pid, epoch in open_ones if (pid, epoch, f"{t}:{p}") in prepared}


def unsure_of_hanging(case: Case) -> dict[tuple[str, int, int], str]:
    """Of which of them the audit does not know whether they hang, and why."""
    unknown = [
        row
        for row in case.rows["verdicts"]
        if (row["invariant"], row["verdict"]) == ("no_dangling_transaction", "unknown")
    ]
    told = [(json.loads(row["scope"]), evidence(row), row["reason"]) for row in unknown]
    return {
        (scope["topic"], scope["partition"], found["producer_id"]): reason for scope, found, reason in told
    }


def _lost_ms(case: Case) -> int:
    """When a coordinators' log was deleted last; 0 if none was."""
    steps = case.script.steps
    lost = {number for number, step in enumerate(steps) if step["op"] == "lose"}
    return max((fact["ts_ms"] for fact in case.facts if fact.get("step") in lost), default=0)


def _transactions(case: Case, last: Fact) -> Iterator[Fault]:
    """How the last transaction of each id ended, as of the question. Clocks that are set tell no order."""
    if case.ahead_ms != (0, 0):
        return
    newest: dict[str, dict[str, Any]] = {}
    for row in case.rows["transactions"]:
        other = newest.get(row["transactional_id"])
        if other is None or (millis(row["started_at"]) or 0) >= (millis(other["started_at"]) or 0):
            newest[row["transactional_id"]] = row
    lost = _lost_ms(case)
    for told in last["transactions"]:
        row = newest.get(told["id"], {})
        if row.get("outcome") == "open" and (millis(row["started_at"]) or 0) < lost:
            continue  # no coordinator lists it
        ended = millis(row.get("prepared_at"))
        outcome = "open" if ended is not None and ended > told["asked"][1] else row.get("outcome")
        if outcome not in _OUTCOMES.get(told["state"], {"open"}) and not (row and outcome is None):
            yield {"fault": "O3:outcome", "id": told["id"], "kafka": told["state"], "marts": outcome}
        places = sorted(row.get("transaction_partitions") or [])
        if told["state"] == "Ongoing" and outcome == "open" and places != told["partitions"]:
            yield {
                "fault": "O3:transaction_partitions",
                "id": told["id"],
                "kafka": told["partitions"],
                "marts": places,
            }
