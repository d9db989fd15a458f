-- Each member of a group, whatever epochs it has had.
select
    cluster,
    group_id,
    member_id,
    max_by(client_id, struct(from_time, from_position))
    filter (where client_id is not null) as client_id,
    max_by(instance_id, struct(from_time, from_position))
    filter (where instance_id is not null) as instance_id,
    max_by(protocol, struct(from_time, from_position)) filter (where protocol is not null) as protocol,
    min(from_time) as first_seen_at,
    max(from_time) as last_change_at
from {{ source('silver', 'group_members') }}
group by cluster, group_id, member_id
