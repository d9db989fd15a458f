"""O7: a step that breaks an invariant on purpose must be violated, or there is a false all-clear."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from plays.calls import Fact
from plays.oracles.case import Case, Fault, evidence
from plays.producers import OPERATOR

_MOVES_EPOCH = 5  # the version of EndTxn that moves the epoch: the coordinator's marker has another
_ADDS_ITSELF = 12  # the version of Produce whose partitions the leader adds to the transaction


def mirrors(case: Case) -> Iterator[Fault]:
    """Transactions cut in half, writes outside of transactions, gaps in sequences, acknowledged records that
    were lost.
    """
    yield from _halves(case)
    yield from _outside(case)
    yield from _gaps(case)
    yield from _lost(case)


def _blamed(case: Case, invariant: str) -> list[dict[str, Any]]:
    """Scope, witness and evidence of what violates an invariant, or may do so."""
    rows = [row for row in case.rows["verdicts"] if row["invariant"] == invariant]
    return [
        json.loads(row["scope"])
        | json.loads(row["witness"] or "{}")
        | evidence(row)
        | {"verdict": row["verdict"]}
        for row in rows
    ]


def _halves(case: Case) -> Iterator[Fault]:
    """An operator's marker in a live transaction: of the other type, or one of two where epochs stay. Where
    they stay, markers are counted, and a coordinator's record does not say in which topic of a name they are.
    """
    wrong, twice = (
        {
            (told.get("producer_id"), told.get("transaction_partition"))
            for told in _blamed(case, invariant)
            if told["verdict"] == "violated"
        }
        for invariant in ("marker_of_the_right_type", "one_marker_each")
    )
    deleted = {
        topic["Name"]
        for fact in case.requests()
        if fact["api"] == "DeleteTopics"
        for topic in fact["request"]["Topics"]
    }
    for fact, place, commit in _cut(case):
        if fact["version"] < _MOVES_EPOCH and place.rpartition(":")[0] in deleted:
            continue
        told = {"producer_id": fact["pid"], "epoch": fact["epoch"], "marker_commits": commit, "place": place}
        told |= {"play": fact["play"], "step": fact["step"]}
        if commit != fact["request"]["Committed"] and (fact["pid"], place) not in wrong:
            yield {"fault": "O7:half_committed", **told}
        is_twice = commit == fact["request"]["Committed"] and fact["version"] < _MOVES_EPOCH
        if is_twice and (fact["pid"], place) not in twice:
            yield {"fault": "O7:two_markers", **told}


def _cut(case: Case) -> Iterator[tuple[Fact, str, bool]]:
    """Each EndTxn with a partition in which an operator had ended a part of the transaction before, and
    whether that was a commit.
    """
    open_ones: dict[tuple[int, int], _Open] = {}
    for fact in case.requests():
        for topic in fact["request"]["Topics"] if fact["api"] == "DeleteTopics" else ():
            for each in open_ones.values():
                each.deleted(topic["Name"])
        key = (fact.get("pid", -1), fact.get("epoch", -1))
        if fact["api"] == "AddPartitionsToTxn" and set(fact["errors"]) == {"NONE"}:
            open_ones.setdefault(key, _Open()).added(fact)
        elif fact["api"] == "Produce" and fact.get("txn") and fact["errors"] == ["NONE"]:
            open_ones.setdefault(key, _Open()).wrote(fact)
        elif (
            fact["api"] == "WriteTxnMarkers"
            and fact["client"] == OPERATOR
            and set(fact["errors"]) == {"NONE"}
        ):
            open_ones.setdefault(key, _Open()).cut(fact)
        elif fact["api"] == "EndTxn" and fact["errors"] == ["NONE"]:
            yield from ((fact, *cut) for cut in open_ones.pop(key, _Open()).cuts)


def _outside(case: Case) -> Iterator[Fault]:
    """Records that a leader took without asking whether their transaction has the partition."""
    blamed: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for invariant in ("no_write_outside_transaction", "no_dangling_transaction"):
        for told in _blamed(case, invariant):
            place = (told["producer_id"], told["topic"], told["partition"])
            blamed.setdefault(place, []).append((told["first_offset"], told["last_offset"]))
    added = {
        (fact["pid"], topic["Name"], p)
        for fact in case.requests()
        if fact["api"] == "AddPartitionsToTxn" and set(fact["errors"]) == {"NONE"}
        for topic in fact["request"]["V3AndBelowTopics"]
        for p in topic["Partitions"]
    }
    writes = [
        f for f in case.requests() if f["api"] == "Produce" and f.get("txn") and f["errors"] == ["NONE"]
    ]
    added |= {(f["pid"], f["topic"], f["p"]) for f in writes if f["version"] >= _ADDS_ITSELF}
    live = set(case.last_answers["topics"].values()) if case.last_answers else set()
    for fact in writes:
        place, at = (fact["pid"], fact["topic"], fact["p"]), fact["answer"]["BaseOffset"]
        is_found = any(first <= at <= last for first, last in blamed.get(place, ()))
        if fact["topic_id"] in live and place not in added and not is_found:
            told = {"place": place, "offset": at}
            yield {"fault": "O7:outside", "play": fact["play"], "step": fact["step"], **told}


def _gaps(case: Case) -> Iterator[Fault]:
    """A leader that has lost the producer's state takes any sequence: after an expiration, say."""
    blamed = {(told["k"], told["topic"], told["partition"]) for told in _blamed(case, "no_sequence_gap")}
    expected: dict[tuple[Any, ...], int] = {}
    for fact in case.requests():
        if fact["api"] != "Produce" or fact["errors"] != ["NONE"] or "pid" not in fact:
            continue
        key = (fact["pid"], fact["epoch"], fact["topic_id"], fact["p"])
        wanted = expected.get(key)
        if (
            wanted is not None
            and fact["sequence"] > wanted
            and (fact["pid"], fact["topic"], fact["p"]) not in blamed
        ):
            yield {
                "fault": "O7:gap",
                "play": fact["play"],
                "step": fact["step"],
                "key": key,
                "sequence": fact["sequence"],
                "expected": wanted,
            }
        expected[key] = max(fact["sequence"] + fact["n"], wanted or 0)


def _lost(case: Case) -> Iterator[Fault]:
    """Only an election, or a broker that was killed, can lose what was acknowledged."""
    last = case.last_answers
    if last is None:
        return
    ends: dict[tuple[str, int], int] = {}
    for fact in case.requests():
        if fact["api"] == "Produce" and fact["errors"] == ["NONE"]:
            place = (fact["topic_id"], fact["p"])
            ends[place] = max(ends.get(place, 0), fact["answer"]["BaseOffset"] + fact["n"])
    known = {(row["topic_id"], row["partition"]) for row in case.rows["leaders"] if row["records_lost"] != 0}
    for topic, p, *offsets in last["partitions"]:
        place = (last["topics"][topic], p)
        if len(offsets) == 3 and offsets[1] < ends.get(place, 0) and place not in known:
            yield {"fault": "O7:lost", "place": [topic, p], "end": offsets[1], "acknowledged": ends[place]}


@dataclass
class _Open:
    """What was written in an open transaction, and the operator's markers in it.

    A leader that verifies nothing takes records for a partition that the client has not added: the
    transaction does not have it, and an operator is right to end what dangles there.
    """

    known: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    cuts: list[tuple[str, bool]] = field(default_factory=list)

    def added(self, fact: Fact) -> None:
        topics = fact["request"]["V3AndBelowTopics"]
        self.known |= {f"{topic['Name']}:{p}" for topic in topics for p in topic["Partitions"]}

    def wrote(self, fact: Fact) -> None:
        place = f"{fact['topic']}:{fact['p']}"
        if fact["version"] >= _ADDS_ITSELF or place in self.known:
            self.places.add(place)

    def deleted(self, topic: str) -> None:
        """What was written there is gone, and no marker ends it; the transaction still has the name."""
        self.places = {place for place in self.places if place.rpartition(":")[0] != topic}
        self.cuts = [cut for cut in self.cuts if cut[0].rpartition(":")[0] != topic]

    def cut(self, fact: Fact) -> None:
        (marker,) = fact["request"]["Markers"]
        (topic,) = marker["Topics"]
        place = f"{topic['Name']}:{topic['PartitionIndexes'][0]}"
        if place in self.places:
            self.cuts.append((place, marker["TransactionResult"]))
