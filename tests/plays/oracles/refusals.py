"""O4: every refusal that fences has its row, with the cause that came before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from plays.calls import Fact
from plays.oracles.case import Case, Fault, evidence, millis, request_of

GROUP = {
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "FENCED_INSTANCE_ID",
    "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
}
PRODUCER = {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"}
_ASKS = ("lab-tools", "lab-admin")
_NEW_INSTANCE, _OPERATOR = "new_instance", "operator"


Event = tuple[dict[str, Any], dict[str, Any]]
"""A row of marts.fct_fencing_events, and its evidence."""


@dataclass(frozen=True)
class Bump:
    """A request that moved a transactional id to another producer id or epoch."""

    kind: str
    client: str
    identity: tuple[int, int]
    refused: frozenset[tuple[str, str]] = frozenset()
    """The InitProducerId requests that were refused before it, since the bump before: kinds and clients. Such
    a request may have aborted a transaction, and so moved the epoch.
    """
    fenced: frozenset[tuple[int, int]] = frozenset()
    """What was refused before it: something else had moved the id beyond that."""

    def moves(self, identity: tuple[int, int], *, by_itself: bool) -> bool:
        """Whether it surely was the first to move the id beyond an identity.

        A new instance always makes the next epoch. Other requests are granted, too, if somebody else has
        done what they ask for.
        """
        pid, epoch = self.identity
        if (pid, epoch) == (identity[0], identity[1] + 1) and self.kind in (_NEW_INSTANCE, _OPERATOR):
            return True
        return not by_itself and self.refused <= {(self.kind, self.client)}


@dataclass
class History:
    """What moved one transactional id.

    ``moves_by_itself``: whether transactions may time out, which moves the epoch without a request.
    """

    moves_by_itself: bool = False
    bumps: list[Bump] = field(default_factory=list)
    refused: set[tuple[str, str]] = field(default_factory=set)
    fenced: set[tuple[int, int]] = field(default_factory=set)
    written: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By client, the newest epoch that it wrote with."""

    def follow(self, fact: Fact) -> None:
        """The next answer to the id's InitProducerId or EndTxn."""
        answer = fact["answer"]
        if answer.get("ErrorCode") == 0 and answer.get("ProducerId", -1) >= 0:
            identity = (answer["ProducerId"], answer["ProducerEpoch"])
            before = frozenset(self.refused), frozenset(self.fenced)
            self.bumps.append(Bump(_kind(fact), fact["client"], identity, *before))
            self.refused = set()
        elif fact["api"] == "InitProducerId":
            self.refused.add((_kind(fact), fact["client"]))

    def is_of_another(self, fact: Fact) -> bool:
        """Whether a Produce presents another epoch than the newest that its client was given or wrote with:
        its line does not tell.
        """
        known = [bump.identity for bump in self.bumps if bump.client == fact["client"]]
        known += [self.written[fact["client"]]] if fact["client"] in self.written else []
        return fact["api"] == "Produce" and _identity(fact) != max(known, default=_identity(fact))

    def is_future(self, fact: Fact) -> bool:
        """Whether a request presents what nobody had been given."""
        return bool(self.bumps) and _identity(fact) > max(bump.identity for bump in self.bumps)

    def cause(self, fact: Fact) -> Bump | None:
        """What first moved the id beyond what a request presents; None if that is not sure."""
        pid, epoch = identity = _identity(fact)
        later = next((b for b in self.bumps if b.identity[0] != pid or b.identity[1] > epoch), None)
        if later is None or self.is_future(fact) or identity in later.fenced:
            return None
        return later if later.moves(identity, by_itself=self.moves_by_itself) else None


@dataclass(frozen=True)
class Refusal:
    """A refused request, its row, and the cause that the play is sure of (for a producer)."""

    fact: Fact
    found: Event | None
    cause: Bump | None
    is_future: bool
    is_of_another: bool
    is_captured: bool

    @property
    def error(self) -> str:
        """The error that says that it was fenced."""
        return str(min(set(self.fact["errors"]) & (PRODUCER | GROUP)))


def refusals(case: Case) -> Iterator[Fault]:
    """Rows that are missing, causes that the play knows better, causes after their effects."""
    yield from _late_causes(case)
    for refusal in refused(case):
        yield from _wrong(refusal)


def refused(case: Case) -> Iterator[Refusal]:
    """Every refusal that must have a row."""
    details = [(row, evidence(row)) for row in case.rows["events"]]
    events: dict[Any, Event] = {
        (told.get("file"), told.get("position")): (row, told) for row, told in details
    }
    histories: dict[str | None, History] = {}
    for fact in case.requests():
        history = histories.setdefault(_transactional_id(fact), History(_moves_by_itself(case)))
        is_producers = "pid" in fact
        if set(fact["errors"]) & (PRODUCER if is_producers else GROUP) and _must_have_row(case, fact):
            line = case.lines.get(request_of(fact))
            is_told = is_producers and _transactional_id(fact) is not None and "lose" not in case.done([])
            cause = history.cause(fact) if is_told else None
            is_future = is_producers and history.is_future(fact)
            is_of_another = is_producers and history.is_of_another(fact)
            yield Refusal(fact, events.get(line), cause, is_future, is_of_another, line is not None)
            if is_producers:
                history.fenced.add(_identity(fact))
        if fact["api"] in ("InitProducerId", "EndTxn"):
            history.follow(fact)
        if fact["api"] == "Produce" and is_producers and fact["errors"] == ["NONE"]:
            newest = max(_identity(fact), history.written.get(fact["client"], _identity(fact)))
            history.written[fact["client"]] = newest


def _late_causes(case: Case) -> Iterator[Fault]:
    for row in case.rows["events"]:
        told = evidence(row)
        caused = millis(told.get("fenced_at") or told.get("caused_at"))
        occurred = millis(row["occurred_at"])
        if caused is not None and occurred is not None and caused > occurred:
            name = f"O4:cause_after_effect:{row['protocol']}:{row['cause']}"
            late = {"late_ms": caused - occurred, "victim": row["victim"], "error": row["error"]}
            yield {"fault": name, **late, "evidence": told}


def _transactional_id(fact: Fact) -> str | None:
    asked = fact["request"]
    return asked.get("TransactionalId") or asked.get("V3AndBelowTransactionalId") or fact.get("txn")


def _must_have_row(case: Case, fact: Fact) -> bool:
    """An administrator's commit has no epoch that could be over; share groups have no rows."""
    if fact["client"] in _ASKS or not case.is_logged(fact):
        return False
    if fact["api"] == "OffsetCommit" and fact["request"]["GenerationIdOrMemberEpoch"] < 0:
        return False
    return fact["api"] not in ("LeaveGroup", "WriteTxnMarkers", "ShareGroupHeartbeat")


def _wrong(refusal: Refusal) -> Iterator[Fault]:
    """What is wrong with the row of one refusal. That its cause is not known is no fault, but counted."""
    fact, cause, error = refusal.fact, refusal.cause, refusal.error
    told = {name: fact[name] for name in ("play", "step", "client", "correlation_id", "errors")}
    if refusal.found is None:
        if not refusal.is_future:
            line = "" if refusal.is_captured else ":no_line"
            yield {"fault": f"O4:no_event:{fact['api']}:{error}{line}", **told, "request": fact["request"]}
        return
    row, details = refusal.found
    if row["error"] != error:
        yield {"fault": f"O4:error:{fact['api']}", **told, "marts": row["error"]}
    if refusal.is_of_another and row["victim_epoch"] != fact["epoch"]:
        return
    if "pid" in fact and row["victim_epoch"] not in (None, fact["epoch"]):
        yield {"fault": f"O4:victim_epoch:{fact['api']}", **told, "marts": row["victim_epoch"]}
    if details.get("victim_client_id") not in (None, fact["client"]):
        yield {"fault": f"O4:victim_client:{fact['api']}", **told, "marts": details["victim_client_id"]}
    if cause is not None and row["cause"] is not None:
        by = details.get("caused_by_client_id") or cause.client
        if (row["cause"], by) != (cause.kind, cause.client):
            told |= {"truth": vars(cause), "marts": row["cause"], "evidence": details}
            yield {"fault": f"O4:cause:{fact['api']}:{error}:{cause.kind}", **told}


def _moves_by_itself(case: Case) -> bool:
    """Whether transactions time out, or ids expire."""
    return bool({"short_timeouts", "expiring_ids"} & case.done([]))


def _identity(fact: Fact) -> tuple[int, int]:
    return fact["pid"], fact["epoch"]


def _kind(fact: Fact) -> str:
    if fact["api"] == "EndTxn":
        return "end_txn"
    if fact["request"].get("ProducerId", -1) >= 0:
        return "client_bump"
    return _OPERATOR if fact.get("by") == "operator" else _NEW_INSTANCE
