"""Incidents in the logs of real brokers: what is wrong there is wrong once."""

from __future__ import annotations

from typing import Any

TWICE = """
SELECT verdicts.cluster, coalesce(
    get_json_object(evidence, '$.commit_id'), get_json_object(evidence, '$.request_id')
) AS event
FROM marts.fct_invariant_verdicts AS verdicts
JOIN marts.fct_incident_verdicts AS incidents ON verdicts.verdict_id = incidents.verdict_id
GROUP BY ALL
HAVING event IS NOT NULL AND count(DISTINCT fingerprint) {several}
"""


def test_no_request_is_in_two_incidents(audit: Any) -> None:
    assert audit.rows(TWICE.format(several="> 1")) == []
    assert len(audit.rows(TWICE.format(several="= 1"))) > 500


def test_every_violation_is_of_an_incident(audit: Any) -> None:
    """Each is about somebody: no verdict of these logs is about a cluster as a whole."""
    (counted,) = audit.rows("SELECT sum(verdicts) AS verdicts FROM marts.fct_incidents")
    (violated,) = audit.rows(
        "SELECT count(*) AS verdicts FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'"
    )
    assert counted == violated
    subjects = audit.rows("SELECT DISTINCT subject_kind FROM marts.fct_incident_verdicts")
    kinds = {row["subject_kind"] for row in subjects}
    assert kinds >= {"client of a group", "group", "transactional id", "producer", "instance", "client"}
    assert "cluster" not in kinds
