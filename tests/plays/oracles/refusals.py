"""O4: every refusal that fences has its row, with the cause that came before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Bump:
    """A request that moved a transactional id to another producer id or epoch."""

    kind: str
    client: str
    producer_id: int
    epoch: int


def refusals(case: Case) -> Iterator[Fault]:
    """Rows that are missing, causes that the play knows better, causes after their effects."""
    yield from _late_causes(case)
    events = {
        (e.get("file"), e.get("position")): (row, e) for row in case.rows["events"] for e in [evidence(row)]
    }
    bumps: dict[str, list[Bump]] = {}
    unsure: set[str] = set()
    for fact in case.requests():
        name = _transactional_id(fact)
        errors = set(fact["errors"]) & (PRODUCER if "pid" in fact else GROUP)
        if errors and _must_have_row(case, fact):
            yield from _row(
                case, fact, min(errors), events, None if name in unsure else bumps.get(name or "", [])
            )
        if name:
            _follow(fact, name, bumps, unsure)


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


def _row(
    case: Case,
    fact: Fact,
    error: str,
    events: dict[tuple[Any, Any], tuple[dict[str, Any], dict[str, Any]]],
    before: list[Bump] | None,
) -> Iterator[Fault]:
    """The row of one refusal; ``before`` are the bumps of its id until then, None if they are not sure."""
    told = {
        "play": fact["play"],
        "step": fact["step"],
        "client": fact["client"],
        "correlation_id": fact["correlation_id"],
    }
    newest = max(((b.producer_id, b.epoch) for b in before or ()), default=None)
    is_future = "pid" in fact and newest is not None and (fact["pid"], fact["epoch"]) > newest
    line = case.lines.get(request_of(fact))
    found = events.get(line) if line else None
    if found is None:
        if not is_future:
            where = "" if line else ":no_line"
            yield {"fault": f"O4:no_event:{fact['api']}:{error}{where}", **told, "request": fact["request"]}
        return
    row, details = found
    if row["error"] != error:
        yield {"fault": f"O4:error:{fact['api']}", **told, "kafka": error, "marts": row["error"]}
    timed = {"short_timeouts", "expiring_ids"} & set(case.script.setting.options)
    if "pid" not in fact or before is None or timed or is_future or "internal" in case.done([]):
        return
    cause = next((b for b in before if b.producer_id != fact["pid"] or b.epoch > fact["epoch"]), None)
    if cause is None:
        return
    if row["cause"] is None:
        yield {
            "fault": f"O4:cause_unknown:{fact['api']}:{error}",
            **told,
            "truth": vars(cause),
            "evidence": details,
        }
    elif (row["cause"], details.get("caused_by_client_id") or cause.client) != (cause.kind, cause.client):
        by = details.get("caused_by_client_id")
        yield {
            "fault": f"O4:cause:{fact['api']}:{error}:{cause.kind}",
            **told,
            "truth": vars(cause),
            "marts": row["cause"],
            "by": by,
        }


def _follow(fact: Fact, name: str, bumps: dict[str, list[Bump]], unsure: set[str]) -> None:
    """A refused InitProducerId may have aborted a transaction, and so moved the epoch."""
    answer = fact["answer"]
    if fact["api"] not in ("InitProducerId", "EndTxn"):
        return
    if answer.get("ErrorCode") == 0 and answer.get("ProducerId", -1) >= 0:
        if fact["api"] == "EndTxn":
            kind = "end_txn"
        elif fact["request"].get("ProducerId", -1) >= 0:
            kind = "client_bump"
        else:
            kind = "operator" if fact.get("by") == "operator" else "new_instance"
        bumps.setdefault(name, []).append(
            Bump(kind, fact["client"], answer["ProducerId"], answer["ProducerEpoch"])
        )
    elif fact["api"] == "InitProducerId":
        unsure.add(name)
