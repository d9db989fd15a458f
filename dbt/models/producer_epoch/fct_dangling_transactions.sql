-- Transactions that are open in a partition and that no coordinator knows of: nobody will end them.
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
)

select
    transactions.cluster,
    transactions.topic,
    transactions.partition,
    transactions.producer_id,
    transactions.producer_epoch,
    transactions.transactional_id,
    transactions.first_offset,
    offsets.last_stable_offset,
    offsets.log_end_offset,
    transactions.from_time as since,
    floor((unix_millis(logs.known_until) - unix_millis(transactions.from_time)) / 1000) as age,
    concat(
        'kafka-transactions.sh --bootstrap-server <broker> abort --topic',
        -- what begins with a dash would be taken for an option
        if(transactions.topic like '-%', '=', ' '),
        {{ shell_word('transactions.topic') }},
        ' --partition ',
        transactions.partition,
        ' --start-offset ',
        transactions.first_offset
    ) as remedy
from {{ source('silver', 'partition_transactions') }} as transactions
inner join dangling
    on
        transactions.cluster = dangling.cluster
        and transactions.partition_transaction_id = dangling.partition_transaction_id
        and dangling.is_dangling = 'true'
left join {{ ref('fct_last_stable_offsets') }} as offsets
    on transactions.cluster = offsets.cluster and transactions.partition_key = offsets.partition_key
left join logs on transactions.cluster = logs.cluster
