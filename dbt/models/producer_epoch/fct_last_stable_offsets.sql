-- How far consumers that read committed data get in each partition, what holds them back, and whether an
-- abort may end that.
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
        outcome,
        late,
        {{ times_out_at('started_at', 'transaction_timeout_ms') }} as times_out_at
    from {{ source('silver', 'transactions') }}
    where outcome is not null and completed_position is null
),

-- a producer id has one transaction at a time
coordinated as (
    select
        cluster,
        producer_id,
        name,
        {{ same('outcome') }} as outcome,
        bool_or(late) as late,
        max(times_out_at) as times_out_at
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
        holders.first_offset,
        holders.last_offset,
        holders.records,
        holders.coordinator_outcome,
        dangling.unknown_reason,
        coordinated.outcome,
        coordinated.late,
        coordinated.times_out_at,
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
        coalesce(open, not is_held) and lowest_offset <= coalesce(first_hole, lowest_offset) as is_known,
        coalesce(last_offset < log_start_offset, false) as is_deleted
    from held
),

judged as (
    select
        *,
        case
            when not is_known then 'unknown'
            when not is_held then 'nothing'
            when is_dangling then 'dangling'
            when listed and outcome in ('committed', 'aborted') then 'completing'
            when listed and late then 'late'
            when listed and not late then 'ordinary'
            else 'unknown'
        end as held_by
    from stable
),

-- by what the coordinator had decided
decided as (
    select
        *,
        case held_by
            when 'dangling' then coalesce(coordinator_outcome, 'none')
            when 'completing' then outcome
            when 'late' then 'open'
            when 'ordinary' then 'open'
            when 'unknown' then 'unknown'
        end as coordinator_has
    from judged
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
    held_by,
    case
        when not is_known then 'not_captured'
        when held_by = 'unknown' then coalesce(unknown_reason, 'not_captured')
        when coordinator_has = 'unknown' then 'several_states'
    end as unknown_reason,
    if(is_known, producer_id, null) as producer_id,
    if(is_known, producer_epoch, null) as producer_epoch,
    if(is_known, transactional_id, null) as transactional_id,
    if(is_known, from_time, null) as held_since,
    coordinator_has,
    case held_by when 'late' then times_out_at when 'ordinary' then times_out_at end as times_out_at,
    case
        when held_by = 'nothing' then cast(null as string)
        when held_by = 'dangling' and is_deleted then 'yes'
        when coordinator_has = 'unknown' then 'unknown'
        when held_by = 'dangling' and coordinator_has in ('none', 'aborted') then 'yes'
        else 'no'
    end as may_abort,
    case
        when held_by = 'nothing' then cast(null as string)
        when held_by = 'unknown'
            then 'the logs do not tell who holds it, or whether a coordinator will end it'
        when held_by = 'completing' then 'its coordinator has decided, and writes the marker'
        when held_by = 'ordinary' and times_out_at is null
            then 'its producer may still be at work, and only that ends it: two-phase commit has no timeout'
        when held_by = 'ordinary'
            then 'its producer may still be at work, and its coordinator ends it in time'
        when held_by = 'late'
            then 'it is past its timeout, and its coordinator aborts it when it is there'
        when is_deleted then 'all of its records have been deleted, so an abort hides none'
        when coordinator_has = 'committed'
            then 'its coordinator had committed it: an abort would hide committed records for ever'
        when coordinator_has = 'aborted'
            then 'its coordinator had aborted it, and only the marker is missing'
        when coordinator_has = 'none' then 'no coordinator has it, so nobody else will end it'
        else 'it may be one of several transactions that ended differently, or none that its coordinator had'
    end as may_abort_because,
    if(is_known and is_held, if(is_deleted, 0, records), null) as records_at_stake,
    if(is_known and is_held and not is_deleted, lowest_offset, null) as first_offset_at_stake,
    if(is_known and is_held and not is_deleted, last_offset, null) as last_offset_at_stake,
    case
        when held_by = 'nothing' then cast(null as string)
        when not is_known or held_by = 'unknown'
            then concat(
                'kafka-transactions.sh --bootstrap-server BROKER:9092 describe-producers',
                {{ of_partition('topic', 'partition') }}
            )
        when held_by <> 'dangling' then {{ describe_command('transactional_id') }}
        when is_deleted or coordinator_has in ('none', 'aborted')
            then {{ abort_command('topic', 'partition', 'first_offset') }}
        else {{ copy_command('topic', 'partition', 'lowest_offset', 'last_offset') }}
    end as command
from decided
