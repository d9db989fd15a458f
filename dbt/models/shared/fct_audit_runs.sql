-- Every run, also one that did not finish.
select
    run_id,
    case when finished_at is null then 'unfinished' else 'finished' end as status,
    started_at,
    finished_at,
    cast(unix_millis(finished_at) - unix_millis(started_at) as double) / 1000 as took_s,
    result,
    not_judged,
    rows_read,
    evidence_until,
    cast(unix_millis(started_at) - unix_millis(evidence_until) as double) / 1000 as lag_s,
    definitions,
    exercised,
    judged,
    holds,
    violated,
    `unknown`,
    incidents_new,
    incidents_ongoing,
    incidents_over,
    incidents_waived
from {{ source('verdicts', 'audit_runs') }}
