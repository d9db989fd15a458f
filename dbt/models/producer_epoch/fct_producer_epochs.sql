-- Every epoch that a producer has had: who bumped it and why, from when to when, and what came before.
with

records as (
    select
        *,
        lag(to_position) over history is not distinct from from_position
        and lag(producer_id) over history is not distinct from producer_id
        and lag(producer_epoch) over history is not distinct from producer_epoch as is_same
    from {{ source('silver', 'transactional_ids') }}
    window history as (partition by cluster, partition_key, transactional_id order by from_position)
),

numbered as (
    select
        *,
        count_if(not is_same) over (
            partition by cluster, partition_key, transactional_id order by from_position
        ) as epoch_number
    from records
),

recorded as (
    select
        cluster,
        transactional_id,
        partition_key,
        partition as coordinator_partition,
        producer_id,
        producer_epoch,
        min_by(cause, from_position) as cause,
        min_by(caused_by_client_id, from_position) as caused_by_client_id,
        min_by(caused_by_connection, from_position) as caused_by_connection,
        min_by(caused_by_request_id, from_position) as caused_by_request_id,
        count_if(cause = 'retry') as retries,
        min(from_position) as from_position,
        case when count(to_position) = count(*) then max(to_position) end as to_position,
        min(from_time) as from_time,
        case when count(to_position) = count(*) then max(to_time) end as to_time,
        max(from_time) as last_seen_at
    from numbered
    group by
        cluster, transactional_id, partition_key, partition, epoch_number, producer_id, producer_epoch
),

followed as (
    select
        *,
        -- after a tombstone an id begins anew
        lag(to_position) over history = from_position as has_previous,
        lag(producer_id) over history as id_before,
        lag(producer_epoch) over history as epoch_before
    from recorded
    window history as (partition by cluster, partition_key, transactional_id order by from_position)
),

-- a marker's epoch is its coordinator's: what a producer wrote tells which it had
written as (
    select
        cluster,
        producer_id,
        producer_epoch,
        bool_or(transactional) as is_transactional,
        count(distinct partition_key) as partitions,
        min(from_time) as first_seen_at,
        max(from_time) as last_seen_at
    from {{ source('silver', 'producer_states') }}
    where producer_epoch is not null and not marker
    group by cluster, producer_id, producer_epoch
),

coordinated as (
    select distinct
        cluster,
        producer_id
    from {{ source('silver', 'transactional_ids') }}
    where producer_id is not null
),

uncoordinated as (
    select
        written.*,
        lag(written.producer_epoch) over history as epoch_before,
        lead(written.first_seen_at) over history as to_time,
        lead(written.producer_epoch) over history is null as is_current
    from written
    left anti join coordinated
        on written.cluster = coordinated.cluster and written.producer_id = coordinated.producer_id
    window history as (partition by written.cluster, written.producer_id order by written.producer_epoch)
)

select
    followed.cluster,
    'transactional' as kind,
    followed.transactional_id,
    followed.producer_id,
    followed.producer_epoch,
    if(followed.has_previous, followed.id_before, null) as previous_producer_id,
    if(followed.has_previous, followed.epoch_before, null) as previous_producer_epoch,
    followed.cause,
    case
        when followed.producer_epoch is null then 'not_captured'
        when followed.cause is not null then null
        -- its line is there: a new instance and an operator ask for the same
        when followed.caused_by_request_id is not null then 'not_logged'
        else 'not_captured'
    end as unknown_reason,
    followed.caused_by_client_id,
    followed.caused_by_connection,
    followed.caused_by_request_id,
    followed.retries,
    written.partitions,
    followed.coordinator_partition,
    followed.from_position,
    followed.to_position,
    followed.from_time,
    followed.to_time,
    followed.last_seen_at,
    {{ is_current('followed.to_position', 'holes') }} as is_current
from followed
left join {{ holes_of_transaction_logs() }} as holes
    on
        followed.cluster = holes.cluster
        and followed.partition_key = holes.partition_key
        and followed.to_position = holes.from_position
left join written
    on
        followed.cluster = written.cluster
        and followed.producer_id = written.producer_id
        and followed.producer_epoch = written.producer_epoch
union all
select
    uncoordinated.cluster,
    if(uncoordinated.is_transactional, 'transactional', 'idempotent') as kind,
    cast(null as string) as transactional_id,
    uncoordinated.producer_id,
    uncoordinated.producer_epoch,
    case
        when uncoordinated.epoch_before is not null then uncoordinated.producer_id
        when not uncoordinated.is_transactional and uncoordinated.producer_epoch = 0
            then asked.previous_producer_id
    end as previous_producer_id,
    uncoordinated.epoch_before as previous_producer_epoch,
    case
        when uncoordinated.is_transactional then cast(null as string)
        when uncoordinated.producer_epoch > 0 then 'local'
        when asked.previous_producer_id is not null then 'reset'
        when asked.request_id is not null then 'new_instance'
    end as cause,
    case
        when uncoordinated.is_transactional then 'not_captured'
        when uncoordinated.producer_epoch = 0 and asked.request_id is null then 'not_captured'
    end as unknown_reason,
    asked.client_id as caused_by_client_id,
    if(uncoordinated.producer_epoch = 0, asked.connection, null) as caused_by_connection,
    if(uncoordinated.producer_epoch = 0, asked.request_id, null) as caused_by_request_id,
    cast(null as bigint) as retries,
    uncoordinated.partitions,
    cast(null as int) as coordinator_partition,
    cast(null as bigint) as from_position,
    cast(null as bigint) as to_position,
    uncoordinated.first_seen_at as from_time,
    uncoordinated.to_time,
    uncoordinated.last_seen_at,
    uncoordinated.is_current
from uncoordinated
left join {{ ref('int_idempotent_producers') }} as asked
    on uncoordinated.cluster = asked.cluster and uncoordinated.producer_id = asked.producer_id
