-- Each group of any kind.
select
    cluster,
    group_id,
    max_by(group_type, struct(from_time, from_position)) filter (where group_type is not null) as group_type,
    count(distinct life) as lives,
    min(from_time) as first_seen_at,
    max(from_time) as last_change_at
from {{ source('silver', 'consumer_groups') }}
group by cluster, group_id
