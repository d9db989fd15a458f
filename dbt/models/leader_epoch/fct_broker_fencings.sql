-- Each time the controller fenced a broker: why, for how long, and what it took from it.
select
    cluster,
    victim_broker_id as broker_id,
    victim_epoch as broker_epoch,
    cause,
    occurred_at as fenced_at,
    ended_at as unfenced_at,
    unix_millis(ended_at) - unix_millis(occurred_at) as fenced_ms,
    leaders_moved,
    isr_shrunk,
    if(cause is null, 'not_logged', null) as unknown_reason,
    caused_position
from {{ source('silver', 'leader_epoch_fencings') }}
where kind = 'broker'
