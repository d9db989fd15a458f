-- Which controller was active, from when to when, and for how long nobody was. Epochs that nobody won have
-- no row.
select
    cluster,
    controller_epoch,
    controller_id,
    lag(controller_id) over in_order as previous_controller_id,
    from_time as active_from,
    to_time as active_until,
    unix_millis(to_time) - unix_millis(from_time) as active_ms,
    unled_ms,
    from_position,
    to_position
from {{ source('silver', 'controllers') }}
window in_order as (partition by cluster, log order by from_position)
