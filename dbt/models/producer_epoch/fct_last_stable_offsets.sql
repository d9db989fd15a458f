-- How far consumers that read committed data get in each partition, and what holds them back.
with

dangling as (
    {{ decided({'dangling': 'is_dangling'}, 'partition_transaction_id') }}
),

logs as (
    select
        cluster,
        topic,
        partition,
        partition_key,
        bool_and(covered) as is_covered,
        min(from_position) as first_captured_offset,
        coalesce(max(log_start_offset), min(from_position)) as log_start_offset,
        max(last_position) as log_end_offset,
        min(from_position) filter (where not covered) as first_hole
    from {{ source('silver', 'log_coverage') }}
    where topic <> '__transaction_state'
    group by cluster, topic, partition, partition_key
    -- a log that was deleted has ended: it holds nothing back
    having bool_or(to_time is null)
),

open_transactions as (
    select
        *,
        concat_ws(':', topic, partition) as name,
        row_number() over (partition by cluster, partition_key order by first_offset) as number
    from {{ source('silver', 'partition_transactions') }}
    where coalesce(open, true)
),

listed as (
    select
        cluster,
        producer_id,
        explode(transaction_partitions) as name,
        late
    from {{ source('silver', 'transactions') }}
    where outcome = 'open'
),

coordinated as (
    select
        cluster,
        producer_id,
        name,
        bool_or(late) as late
    from listed
    group by cluster, producer_id, name
),

held as (
    select
        logs.*,
        holders.partition_transaction_id is not null as is_held,
        holders.open,
        holders.listed,
        holders.producer_id,
        holders.producer_epoch,
        holders.transactional_id,
        holders.from_time,
        dangling.unknown_reason,
        coordinated.late,
        dangling.is_dangling = 'true' as is_dangling,
        -- what was deleted holds nothing back any more
        greatest(coalesce(holders.first_offset, logs.log_end_offset), logs.log_start_offset) as lowest_offset
    from logs
    left join open_transactions as holders
        on
            logs.cluster = holders.cluster
            and logs.partition_key = holders.partition_key
            and holders.number = 1
    left join dangling
        on
            holders.cluster = dangling.cluster
            and holders.partition_transaction_id = dangling.partition_transaction_id
    left join coordinated
        on
            holders.cluster = coordinated.cluster
            and holders.producer_id = coordinated.producer_id
            and holders.name = coordinated.name
),

-- where it may have been ended, or another one may have begun in a hole before it, nothing is certain
stable as (
    select
        *,
        coalesce(open, not is_held) and lowest_offset <= coalesce(first_hole, lowest_offset) as is_known
    from held
)

select
    cluster,
    topic,
    partition,
    partition_key,
    is_covered,
    first_captured_offset,
    log_start_offset,
    log_end_offset,
    if(is_known, lowest_offset, null) as last_stable_offset,
    if(is_known, log_end_offset - lowest_offset, null) as offsets_held,
    case
        when not is_known then 'unknown'
        when not is_held then 'nothing'
        when is_dangling then 'dangling'
        when listed and late then 'late'
        when listed and not late then 'ordinary'
        else 'unknown'
    end as held_by,
    case
        when not is_known then 'not_captured'
        when is_held and not coalesce(is_dangling, false) and not coalesce(listed and late is not null, false)
            then coalesce(unknown_reason, 'not_captured')
    end as unknown_reason,
    if(is_known, producer_id, null) as producer_id,
    if(is_known, producer_epoch, null) as producer_epoch,
    if(is_known, transactional_id, null) as transactional_id,
    if(is_known, from_time, null) as held_since
from stable
