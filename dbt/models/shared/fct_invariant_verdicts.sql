-- What each marked invariant and step says of the logs, one row per episode.
with

episodes as (
    select *
    from {{ in_changed_chapters(source('verdicts', 'episodes')) }}
),

{{ named_in_verdicts('episodes') }}

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
    group_id,
    at_topic as topic,
    cast(at_partition as int) as partition,
    transactional_id,
    cast(producer_id as bigint) as producer_id,
    client_id,
    member_id,
    broker_id,
    instance,
    chapter
from placed
