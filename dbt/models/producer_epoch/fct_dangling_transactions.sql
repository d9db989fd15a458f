-- Transactions that are open in a partition of a topic that exists, and that no coordinator will end.
with

dangling as (
    {{ decided({'dangling': 'is_dangling'}, 'partition_transaction_id') }}
),

logs as (
    select
        cluster,
        max(last_time) as known_until
    from {{ source('silver', 'log_coverage') }}
    group by cluster
),

-- of those that are open: what was deleted of them nobody can lose
held as (
    select
        transactions.*,
        offsets.last_stable_offset,
        offsets.log_end_offset,
        coalesce(transactions.last_offset < offsets.log_start_offset, false) as is_deleted,
        greatest(
            transactions.first_offset, coalesce(offsets.log_start_offset, transactions.first_offset)
        ) as lowest_offset
    from {{ source('silver', 'partition_transactions') }} as transactions
    left join {{ ref('fct_last_stable_offsets') }} as offsets
        on transactions.cluster = offsets.cluster and transactions.partition_key = offsets.partition_key
    where transactions.to_time is null
),

commands as (
    select
        *,
        if(is_deleted, 'deleted', coordinator_outcome) as at_stake,
        {{ abort_command('topic', 'partition', 'first_offset') }} as abort_command,
        concat(
            {{ copy_command('topic', 'partition', 'lowest_offset', 'last_offset') }},
            if(
                records = last_offset - first_offset + 1,
                '',
                concat(
                    ' (it also shows what others wrote there: kafka-dump-log.sh --print-data-log ',
                    '--files SEGMENT tells the batches of producer id ',
                    producer_id,
                    ')'
                )
            ),
            '; once they are written again, an abort at offset ',
            first_offset,
            ' lets readers go on'
        ) as copying
    from held
)

select
    transactions.cluster,
    transactions.topic,
    transactions.partition,
    transactions.producer_id,
    transactions.producer_epoch,
    transactions.transactional_id,
    transactions.first_offset,
    transactions.last_stable_offset,
    transactions.log_end_offset,
    transactions.from_time as since,
    floor((unix_millis(logs.known_until) - unix_millis(transactions.from_time)) / 1000) as age_s,
    case transactions.at_stake
        when 'committed' then concat(
            'its records were committed, and kafka-transactions.sh abort would hide them for ever: ',
            'copy them first with ',
            transactions.copying
        )
        when 'unknown' then concat(
            'its records may be committed, and kafka-transactions.sh abort would hide them for ever: ',
            'look at them first with ',
            transactions.copying
        )
        else transactions.abort_command
    end as remedy,
    coalesce(transactions.coordinator_outcome, 'unknown') as coordinator_outcome,
    case
        when transactions.coordinator_outcome is null then 'not_logged'
        when transactions.coordinator_outcome = 'unknown' then 'several_states'
    end as unknown_reason
from commands as transactions
inner join dangling
    on
        transactions.cluster = dangling.cluster
        and transactions.partition_transaction_id = dangling.partition_transaction_id
        and dangling.is_dangling = 'true'
left join logs on transactions.cluster = logs.cluster
