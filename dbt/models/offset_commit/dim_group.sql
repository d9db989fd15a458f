-- Each group of any kind: with records of its own, with offsets, or only named in requests.
with

seen as (
    select
        cluster,
        group_id,
        group_type,
        life,
        from_time,
        from_position
    from {{ source('silver', 'consumer_groups') }}
    union all
    select
        cluster,
        group_id,
        cast(null as string) as group_type,
        cast(null as bigint) as life,
        min(committed_at) as from_time,
        cast(null as bigint) as from_position
    from {{ source('silver', 'committed_offsets') }}
    group by cluster, group_id
    union all
    select
        cluster,
        group_id,
        {{ same('group_type') }} as group_type,
        cast(null as bigint) as life,
        min(requested_at) as from_time,
        cast(null as bigint) as from_position
    from {{ source('silver', 'offset_commits') }}
    group by cluster, group_id
)

select
    cluster,
    group_id,
    max_by(group_type, struct(from_time, from_position)) filter (where group_type is not null) as group_type,
    count(distinct life) as lives,
    min(from_time) as first_seen_at,
    max(from_time) filter (where life is not null) as last_change_at
from seen
group by cluster, group_id
