"""The tables in which runs note what must be known beyond them: the incidents that a gate has reported, the
waivers, and the runs themselves.
"""

from __future__ import annotations

from fencepost.tables.table import Table

ENTITY = {
    "protocol": "string",  # of the gravest of its verdicts
    "group_id": "string",
    "topic": "string",
    "partition": "int",
    "transactional_id": "string",
    "client_id": "string",
    "host": "string",
    "member_id": "string",
    "broker_id": "int",
    "instance": "string",
}
"""What an incident is about. Null: none, several or unknown."""

INCIDENT_NOTES = Table(
    "verdicts.incident_notes",
    "What each gate has reported of an incident: a row for each change. It is appended after the alert was "
    "sent, so an incident without a row is one of which nobody was told.",
    {
        "cluster": "string",
        "fingerprint": "string",
        "run_id": "string",
        "noted_at": "timestamp",
        "state": "string",  # open, over, waived
        "severity": "string",
        "title": "string",
        "invariants": "array<string>",
        "critical": "array<string>",  # those of them that close the gate
        **ENTITY,
        "first_seen": "timestamp",
        "last_seen": "timestamp",
        "evidence_until": "timestamp",  # the newest evidence of the cluster at that time
    },
    ("cluster", "fingerprint", "noted_at"),
)

ALERT_NOTES = Table(
    "verdicts.alert_notes",
    "What each recipient of alerts was told of an incident: a row for each change. It is appended after the "
    "alert was sent, so a recipient without a row was told nothing.",
    {
        "recipient": "string",  # its name in the configuration
        "cluster": "string",
        "fingerprint": "string",  # of a cluster that is not judged: not judged
        "run_id": "string",
        "noted_at": "timestamp",
        "event": "string",  # new, worse, over
        "sent": "boolean",  # false: the recipient does not want to be told of such events
        "severity": "string",
        "title": "string",
        "critical": "array<string>",  # the invariants that close the gate
    },
    ("recipient", "cluster", "fingerprint", "noted_at"),
)

WAIVERS = Table(
    "verdicts.waivers",
    "The waivers of the configuration that have not expired. A column that is null matches everything.",
    {
        "waiver": "int",  # its place in the configuration, from 1
        "invariant": "string",
        "cluster": "string",
        "incident": "string",  # how a fingerprint begins
        "group_id": "string",
        "topic": "string",
        "partition": "int",
        "transactional_id": "string",
        "client_id": "string",
        "because": "string",
        "expires": "string",  # the last day on which it counts, 2026-01-31, UTC
    },
    ("waiver",),
)

AUDIT_RUNS = Table(
    "verdicts.audit_runs",
    "One row per run. A run that was killed, or goes on, has no end.",
    {
        "run_id": "string",
        "started_at": "timestamp",
        "finished_at": "timestamp",  # when the gate had decided; null: it never did
        "result": "string",  # PASSED, FAILED, NOT JUDGED; null while it has not finished
        "not_judged": "array<string>",  # the clusters that could not be judged
        "rows_read": "bigint",  # added to bronze; null until capture has finished
        "evidence_until": "timestamp",  # the newest evidence; of several clusters the one that is behind most
        # definitions of each cluster: all, those put to the test, those that are known somewhere
        **dict.fromkeys(("definitions", "exercised", "judged"), "bigint"),
        # checks of all definitions
        **dict.fromkeys(("holds", "violated", "unknown"), "bigint"),
        **dict.fromkeys(
            ("incidents_new", "incidents_ongoing", "incidents_over", "incidents_waived"), "bigint"
        ),
    },
    ("run_id",),
)
