-- Each broker that registered with the controller.
select
    cluster,
    broker_id,
    count(distinct incarnation_id) as incarnations,
    min(from_time) as first_seen_at,
    max(from_time) as last_change_at
from {{ source('silver', 'broker_states') }}
group by cluster, broker_id
