-- What a consumer did first with an offset that its group had committed, and where it went on after that.
with

positions as (
    select * from {{ source('silver', 'fetch_positions') }}
),

first_uses as (
    select
        cluster,
        origin_commit_id as commit_id,
        min_by(fetch_position_id, struct(from_position, requested_at, fetch_position_id))
            as fetch_position_id,
        count(*) as uses
    from positions
    where origin_commit_id is not null
    group by cluster, origin_commit_id
)

select
    first_uses.cluster,
    first_uses.commit_id,
    first_uses.uses,
    used.requested_at as used_at,
    used.client_id,
    used.client_host,
    used.error,
    used.live_topic_id,
    case
        when used.error = 'OFFSET_OUT_OF_RANGE' then 'out_of_range'
        when used.error <> 'NONE' then 'refused'
        when used.diverging_epoch >= 0 or used.diverging_end_offset >= 0 or used.origin = 'truncated'
            then 'diverged'
        when used.error = 'NONE' then 'read_on'
    end as outcome,
    next.fetch_position_id as next_fetch_position_id,
    next.origin as next_origin,
    next.fetch_offset as next_offset,
    case
        when used.error = 'NONE' and used.diverging_epoch < 0 and used.diverging_end_offset < 0
            then greatest(0, used.fetch_offset - used.log_start_offset)
        when next.error = 'NONE' and next.live_topic_id = used.live_topic_id
            then greatest(0, next.fetch_offset - next.log_start_offset)
    end as records_below
from first_uses
inner join positions as used
    on first_uses.cluster = used.cluster and first_uses.fetch_position_id = used.fetch_position_id
-- who is told that the log ends before its offset fetches from there first
left join positions as next
    on
        used.cluster = next.cluster
        and if(used.origin = 'truncated', used.fetch_position_id, used.next_fetch_position_id)
        = next.fetch_position_id
