"""O2: a broker that nobody changed keeps its own rules. A violation of one of these is a false alarm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plays.oracles.case import Case, Fault, evidence, millis
from plays.oracles.state import hanging

ALWAYS = {
    "aborted_transactions_are_indexed", "assignment_epoch_bound", "batch_leader_epoch_known",
    "batch_leader_epochs_in_order", "broker_epoch_never_falls",
    "broker_keeps_its_add_partitions_rule", "broker_keeps_its_end_txn_rule",
    "broker_keeps_its_init_rule", "broker_keeps_its_join_rule", "broker_keeps_its_rule",
    "broker_names_its_error", "checkpoint_agrees", "commit_of_current_generation",
    "commit_to_live_incarnation", "committed_leader_epoch_bound", "end_txn_bumps_epoch",
    "epoch_order", "every_marker_is_written", "generation_grows_by_one", "group_epoch_never_falls",
    "leader_epoch_never_falls", "marker_coordinator_epoch_in_order",
    "marker_coordinator_epoch_never_falls", "member_epoch_never_falls",
    "next_producer_id_at_exhaustion", "no_partition_owned_twice", "partition_epoch_grows",
    "partition_epochs_unique", "policies_relax_in_order", "producer_epoch_steps",
    "producer_state_is_kept", "retry_returns_the_same_epoch", "stale_epoch_never_bumped",
    "status_transitions", "target_assignment_epoch_never_falls",
}  # fmt: skip
"""Kept whatever clients send, by every broker and at every moment."""

UNLESS = {
    "no_sequence_gap": {"producer.id.expiration.ms"},
    "no_sequence_reset": {"producer.id.expiration.ms"},
    "new_epoch_starts_at_sequence_zero": {"producer.id.expiration.ms"},
    "no_write_after_fence": {"producer.id.expiration.ms"},
    "marker_of_the_right_type": {"marker"},
    "no_write_outside_transaction": {"marker", "unverified"},
    "one_marker_each": {"marker", "down"},
    "no_dangling_transaction": {"marker", "unverified", "lose"},
}
"""Broken only by what is named: a step of the same play, a setting, an option, a broker that was away."""

AFTER_LOSS = {
    "every_marker_is_written",
    "no_sequence_gap",
    "producer_state_is_kept",
    "no_dangling_transaction",
}
"""With three brokers also broken by lost records, and by a leader that is away when a transaction ends."""


def rules(case: Case) -> Iterator[Fault]:
    """Each violated rule that nothing in the play may have broken."""
    for row in case.rows["verdicts"]:
        if row["verdict"] == "violated" and not _may_be(case, row["invariant"], row):
            told = {name: row[name] for name in ("verdict_id", "scope", "witness", "observed")}
            plays = sorted(case.plays_of(row))
            yield {
                "fault": f"O2:{row['invariant']}",
                "plays": plays,
                **told,
                "evidence": row["evidence"][:600],
            }


def _may_be(case: Case, invariant: str, row: dict[str, Any]) -> bool:
    if case.script.setting.brokers > 1 and invariant in AFTER_LOSS:
        return True
    if any(is_true(case, row) for is_true in _KAFKA_SAYS.get(invariant, ())):
        return True
    if invariant in ALWAYS:
        return False
    if invariant not in UNLESS:
        return True
    at = millis(row["from_time"])
    down = {"down"} if case.is_near_down(at) else set()
    return bool(UNLESS[invariant] & (case.done(case.plays_of(row)) | down))


def _is_open_still(case: Case, row: dict[str, Any]) -> bool:
    """Whether Kafka itself says that the records which a marker was due for are open: some releases lose
    markers when they start.
    """
    told, last = evidence(row), case.last_answers
    topic, _, partition = told["transaction_partition"].rpartition(":")
    place = (topic, int(partition), told["producer_id"])
    if last is None or place in hanging(last):
        return last is not None
    opened = {first for *other, _, first in last["producers"] if tuple(other) == place and first >= 0}
    prepared = millis(row["from_time"])
    return any(
        (fact.get("topic"), fact.get("p"), fact.get("pid")) == place
        and fact["answer"].get("BaseOffset") in opened
        and (prepared is None or fact["ts_ms"] <= prepared - case.ahead_ms[0])
        for fact in case.requests()
        if fact["api"] == "Produce"
    )


def _was_skipped(case: Case, row: dict[str, Any]) -> bool:
    """Whether a coordinator says that it skipped the marker, though the topic had not been deleted."""
    scope, told = json.loads(row["scope"]), evidence(row)
    place = told.get("transaction_partition") or f"{scope['topic']}:{scope['partition']}"
    skipped = [
        fact
        for fact in case.facts
        if fact["event"] == "marker_skipped"
        and (fact["txn"], f"{fact['topic']}:{fact['p']}") == (told.get("transactional_id"), place)
    ]
    return any(not _was_deleted(case, fact["topic"], fact["ts_ms"]) for fact in skipped)


def _was_deleted(case: Case, topic: str, before_ms: int) -> bool:
    """Whether somebody had asked for the deletion of a topic before."""
    return any(
        fact["api"] == "DeleteTopics"
        and fact["sent_ms"] <= before_ms
        and topic in {each["Name"] for each in fact["request"]["Topics"]}
        for fact in case.requests()
    )


def _hangs(case: Case, row: dict[str, Any]) -> bool:
    """Whether Kafka itself says that the transaction dangles: some releases lose markers when they start."""
    scope, told = json.loads(row["scope"]), evidence(row)
    place = (scope["topic"], scope["partition"], told.get("producer_id"))
    return case.last_answers is not None and place in hanging(case.last_answers)


_KAFKA_SAYS: Mapping[str, tuple[Callable[[Case, dict[str, Any]], bool], ...]] = {
    "every_marker_is_written": (_is_open_still, _was_skipped),
    "no_dangling_transaction": (_hangs,),
    "no_write_outside_transaction": (_was_skipped,),  # the marker of the next transaction ends this one, too
}
"""What of Kafka's own words shows that a violation is true."""
