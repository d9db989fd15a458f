-- Each transactional id, whatever epochs its producers have had.
select
    cluster,
    transactional_id,
    max_by(producer_id, struct(from_time, from_position))
    filter (where producer_id is not null) as producer_id,
    max_by(producer_epoch, struct(from_time, from_position))
    filter (where producer_epoch is not null) as producer_epoch,
    count(distinct producer_id) as producer_ids,
    min(from_time) as first_seen_at,
    max(from_time) as last_change_at
from {{ source('silver', 'transactional_ids') }}
group by cluster, transactional_id
