-- Workers of Kafka Connect as they joined their groups, and which of them had read less of the config topic.
with

joins as (
    select
        *,
        if(error = 'NONE', response_generation, null) as generation
    from {{ source('silver', 'group_joins') }}
    where protocol_type = 'connect'
),

compared as (
    select
        *,
        max(config_offset) over (partition by cluster, group_id, generation) as newest_offset,
        count(*) over (partition by cluster, group_id, generation) as workers
    from joins
)

select
    cluster,
    request_id,
    group_id,
    generation,
    coalesce(answered_member_id, member_id) as member_id,
    client_id,
    requested_at,
    worker_url,
    config_offset,
    if(generation is null, null, newest_offset - config_offset) as offsets_behind,
    if(generation is null, null, workers) as workers,
    is_leader,
    protocols,
    reason,
    error,
    cast(unix_millis(responded_at) - unix_millis(requested_at) as bigint) as waited_ms,
    case when worker_url is null then 'unread' when error is null then 'no_answer' end as unknown_reason,
    file,
    position
from compared
