"""What the audit says of Java clients of 2.1.1 and 2.4.1, which ``tests/lab/old_clients.py`` played."""

from __future__ import annotations

from typing import Any

CLUSTER = "old-clients-4.3.1"
WITHOUT_NAME, WITHOUT_GENERATION = "2.1.1", "2.4.1"
"""The release whose clients do not name their software, and the one whose claims have no generation."""


def _rows(audit: Any, table: str, where: str = "true") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = audit.rows(f"SELECT * FROM {table} WHERE cluster = '{CLUSTER}' AND {where}")
    return found


def test_every_line_of_theirs_is_read(audit: Any) -> None:
    assert _rows(audit, "marts.fct_quarantine") == []
    commits = audit.commits(CLUSTER)
    assert {2, 6, 8} == {row["api_version"] for row in commits}
    assert [row for row in commits if row["truth"] == "unknown"] == []


def test_who_does_not_name_its_software_has_no_name(audit: Any) -> None:
    """A broker logs "unknown" for it."""
    rows = _rows(audit, "bronze.requests", f"client_id LIKE '%{WITHOUT_NAME}%'")
    assert {(row["software_name"], row["software_version"]) for row in rows} == {(None, None)}
    answers = _rows(audit, "marts.fct_metadata_answers")
    assert {row["software_name"] for row in answers} <= {"apache-kafka-java", None}


def test_a_claim_is_unknown_because_its_client_does_not_say_the_generation(audit: Any) -> None:
    claims = _rows(audit, "marts.fct_ownership_claims")
    assert claims
    told = {(row["client_id"], row["was_assigned"], row["unknown_reason"]) for row in claims}
    assert told == {(f"cooperative-1-{WITHOUT_GENERATION}", None, "not_said")}
    judged = _rows(audit, "marts.fct_invariant_verdicts", "invariant = 'claim_was_assigned'")
    assert {(row["verdict"], row["reason"]) for row in judged} == {("unknown", "not_said")}


def test_who_woke_up_was_refused_and_fenced_as_each_was_told(audit: Any) -> None:
    refused = {
        (row["client_id"], row["broker_error"], row["shipped_error"], row["truth"])
        for row in audit.commits(CLUSTER)
        if row["broker_answer"] == "reject"
    }
    error = "UNKNOWN_MEMBER_ID"
    assert refused == {
        (f"eager-2-{each}", error, error, "zombie") for each in (WITHOUT_NAME, WITHOUT_GENERATION)
    }
    fenced = _rows(audit, "marts.fct_fencing_events", "protocol = 'producer_epoch'")
    assert {(row["victim"], row["cause"], row["caused_by_client_id"]) for row in fenced} == {
        (f"tx-1-{each}", "new_instance", f"tx-1-{each}-again") for each in (WITHOUT_NAME, WITHOUT_GENERATION)
    }


def test_their_own_logs_tell_what_they_were_assigned_and_gave_up(audit: Any) -> None:
    lines = _rows(audit, "bronze.consumer_lines", "event IN ('added', 'revoked')")
    told = {(str(row["client_id"]).rpartition("-")[2], row["event"]) for row in lines}
    assert told >= {
        (each, event) for each in (WITHOUT_NAME, WITHOUT_GENERATION) for event in ("added", "revoked")
    }


def test_a_group_id_alone_protects_no_offset(audit: Any) -> None:
    rows = _rows(audit, "marts.fct_invariant_verdicts", "verdict = 'violated'")
    assert {row["invariant"] for row in rows} == {"no_memberless_commit_for_owned_partition"}
    assert {str(row["client_id"])[:4] for row in rows} == {"tx-1", "tx-2"}
