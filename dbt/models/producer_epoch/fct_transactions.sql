-- Every transaction as its coordinator logged it, with the markers that were due and those that were found.
with

markers as (
    select
        cluster,
        partition_key,
        transactional_id,
        from_position as prepared_position,
        count(*) as due,
        count_if(found > 0) as found,
        count_if(found = 0) as missing,
        -- none is known only if every partition is
        case when count_if(wrong > 0) > 0 or count(wrong) = count(*) then count_if(wrong > 0) end as wrong
    from {{ source('silver', 'transaction_markers') }}
    group by cluster, partition_key, transactional_id, from_position
),

ends as (
    select
        cluster,
        transactional_id,
        record_offset,
        min_by(client_id, request_id) as client_id,
        min_by(connection, request_id) as connection,
        bool_or(by_another) as by_another
    from {{ source('silver', 'end_txns') }}
    where record_offset is not null
    group by cluster, transactional_id, record_offset
),

-- a new instance and an operator ask for the same
told_by_none as (
    select
        cluster,
        partition_key,
        transactional_id,
        from_position
    from {{ source('silver', 'transactional_ids') }}
    where cause is null and caused_by_request_id is not null
),

logs as (
    select
        cluster,
        partition_key,
        max(last_time) as known_until
    from {{ source('silver', 'log_coverage') }}
    group by cluster, partition_key
)

select
    transactions.cluster,
    transactions.transactional_id,
    transactions.producer_id,
    transactions.producer_epoch,
    clients.client_id,
    clients.connection,
    ends.client_id as ended_by_client_id,
    ends.connection as ended_by_connection,
    ends.by_another as is_ended_by_another,
    transactions.outcome,
    transactions.abort_cause,
    case
        when transactions.outcome is null or transactions.late is null then 'not_captured'
        when transactions.outcome = 'aborted' and transactions.abort_cause is null
            then if(told_by_none.from_position is null, 'not_captured', 'not_logged')
    end as unknown_reason,
    transactions.started_at,
    transactions.prepared_at,
    transactions.completed_at,
    unix_millis(transactions.completed_at) - unix_millis(transactions.started_at) as duration_ms,
    unix_millis(transactions.completed_at) - unix_millis(transactions.prepared_at) as completion_ms,
    transactions.transaction_timeout_ms,
    transactions.late as is_late,
    transactions.transaction_version,
    cast(array_size(transactions.transaction_partitions) as bigint) as partitions,
    transactions.transaction_partitions,
    -- what a hole hides is not known to be nothing
    {%- for count in ['due', 'found', 'missing', 'wrong'] %}
    if(markers.due is not null, markers.{{ count }}, if(transactions.outcome is null, null, 0))
        as markers_{{ count }},
    {%- endfor %}
    transactions.partition as coordinator_partition,
    transactions.started_position,
    transactions.prepared_position,
    transactions.completed_position,
    logs.known_until
from {{ source('silver', 'transactions') }} as transactions
left join markers
    on
        transactions.cluster = markers.cluster
        and transactions.partition_key = markers.partition_key
        and transactions.transactional_id = markers.transactional_id
        and transactions.prepared_position = markers.prepared_position
left join ends
    on
        transactions.cluster = ends.cluster
        and transactions.transactional_id = ends.transactional_id
        and transactions.prepared_position = ends.record_offset
left join told_by_none
    on
        transactions.cluster = told_by_none.cluster
        and transactions.partition_key = told_by_none.partition_key
        and transactions.transactional_id = told_by_none.transactional_id
        and transactions.prepared_position = told_by_none.from_position
left join logs
    on
        transactions.cluster = logs.cluster
        and transactions.partition_key = logs.partition_key
left join {{ ref('int_producer_clients') }} as clients
    on
        transactions.cluster = clients.cluster
        and transactions.transactional_id = clients.transactional_id
        and transactions.producer_id = clients.producer_id
        and transactions.producer_epoch = clients.producer_epoch
