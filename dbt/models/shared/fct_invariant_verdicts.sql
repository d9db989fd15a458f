-- What each marked invariant and step says of the logs, one row per episode.
select
    verdict_id,
    module,
    invariant,
    kind,
    severity,
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    verdict,
    failed_conjunct,
    reason,
    observed,
    evidence,
    chapter
from {{ in_changed_chapters(source('verdicts', 'episodes')) }}
