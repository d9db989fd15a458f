-- How far each producer is from the end of its epochs, and when it gets there at the pace that was seen.
{% set most_days = 36500 %}
with

epochs as (
    select
        *,
        if(transactional_id is null, producer_id, null) as unnamed_id,
        struct(coalesce(is_current, false), from_time, from_position) as place,
        case when is_current then 'yes' when not is_current then 'no' else 'unknown' end as current,
        case
            when producer_id = previous_producer_id then greatest(producer_epoch - previous_producer_epoch, 0)
        end as bumps
    from {{ ref('fct_producer_epochs') }}
),

producers as (
    select
        cluster,
        kind,
        transactional_id,
        max_by(producer_id, place) as producer_id,
        max_by(producer_epoch, place) as producer_epoch,
        max_by(current, place) as current,
        coalesce(sum(bumps), 0) as bumps,
        count_if(producer_id <> previous_producer_id) as rotations,
        min(from_time) as first_seen_at
    from epochs
    group by cluster, kind, transactional_id, unnamed_id
),

last_records as (
    select
        cluster,
        transactional_id,
        max_by(
            producer_epoch > {{ exhausted_epoch() }} and next_producer_id = -1,
            struct(from_time, from_position)
        ) as is_stuck
    from {{ source('silver', 'transactional_ids') }}
    where to_position is null
    group by cluster, transactional_id
),

logs as (
    select
        cluster,
        max(last_time) as known_until
    from {{ source('silver', 'log_coverage') }}
    group by cluster
),

measured as (
    select
        producers.*,
        logs.known_until,
        greatest({{ exhausted_epoch() }} - producers.producer_epoch, 0) as epochs_left,
        -- where a clock was set back, a log may end before the time at which it began
        try_divide(
            producers.bumps,
            greatest(unix_millis(logs.known_until) - unix_millis(producers.first_seen_at), 0) / 86400000D
        ) as bumps_per_day,
        last_records.is_stuck
    from producers
    left join logs on producers.cluster = logs.cluster
    left join last_records
        on
            producers.cluster = last_records.cluster
            and producers.transactional_id = last_records.transactional_id
),

estimated as (
    select
        *,
        if(current = 'unknown', null, current = 'yes') as is_current,
        try_divide(epochs_left, bumps_per_day) as days_left
    from measured
)

select
    cluster,
    kind,
    transactional_id,
    producer_id,
    producer_epoch,
    epochs_left,
    bumps,
    bumps_per_day,
    case
        when is_current and days_left <= {{ most_days }}
            then timestamp_millis(floor(unix_millis(known_until) + days_left * 86400000D))
    end as exhausted_at,
    if(kind = 'idempotent', null, rotations) as rotations,
    is_stuck,
    if(producer_epoch is null, 'not_captured', null) as unknown_reason,
    is_current,
    first_seen_at,
    known_until
from estimated
