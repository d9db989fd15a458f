"""O7: a step that breaks an invariant on purpose must be violated, or there is a false all-clear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from plays.calls import Fact
from plays.oracles.case import Case, Fault, evidence
from plays.producers import OPERATOR


def mirrors(case: Case) -> Iterator[Fault]:
    """What was cut in half, and what lies outside of transactions."""
    blamed = {
        (told.get("producer_id"), told.get("transaction_partition"))
        for row in case.rows["verdicts"]
        if row["verdict"] == "violated" and row["invariant"] == "marker_of_the_right_type"
        for told in [evidence(row)]
    }
    open_ones: dict[tuple[int, int], _Open] = {}
    for fact in case.requests():
        key = (fact.get("pid", -1), fact.get("epoch", -1))
        if fact["api"] == "Produce" and fact.get("txn") and fact["errors"] == ["NONE"]:
            open_ones.setdefault(key, _Open()).wrote(fact)
        elif (
            fact["api"] == "WriteTxnMarkers"
            and fact["client"] == OPERATOR
            and set(fact["errors"]) == {"NONE"}
        ):
            open_ones.setdefault(key, _Open()).cut(fact)
        elif fact["api"] == "EndTxn" and fact["errors"] == ["NONE"]:
            ended = open_ones.pop(key, _Open())
            for place, commit in ended.cuts:
                if commit != fact["request"]["Committed"] and (key[0], place) not in blamed:
                    told = {"producer_id": key[0], "epoch": key[1], "marker_commits": commit, "place": place}
                    yield {"fault": "O7:half_committed", "play": fact["play"], "step": fact["step"], **told}


@dataclass
class _Open:
    """What was written in an open transaction, and the operator's markers in it."""

    places: set[str] = field(default_factory=set)
    cuts: list[tuple[str, bool]] = field(default_factory=list)

    def wrote(self, fact: Fact) -> None:
        self.places.add(f"{fact['topic']}:{fact['p']}")

    def cut(self, fact: Fact) -> None:
        (marker,) = fact["request"]["Markers"]
        (topic,) = marker["Topics"]
        place = f"{topic['Name']}:{topic['PartitionIndexes'][0]}"
        if place in self.places:
            self.cuts.append((place, marker["TransactionResult"]))
