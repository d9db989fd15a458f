-- Epochs that producers without a transactional id gave themselves, and what they wrote again under them.
with

told as (
    select
        cluster,
        producer_id,
        producer_epoch,
        min(logged_at) as bumped_at
    from {{ source('silver', 'client_events') }}
    where event in ('epoch_bumped', 'producer_id_set') and transactional_id is null
    group by cluster, producer_id, producer_epoch
)

select
    bumps.cluster,
    bumps.topic,
    bumps.partition,
    bumps.partition_key,
    bumps.producer_id,
    bumps.producer_epoch,
    bumps.previous_epoch,
    producers.client_id,
    producers.connection,
    told.bumped_at,
    bumps.batches,
    bumps.records,
    bumps.written_twice as is_written_twice,
    if(bumps.written_twice is null or bumps.previous_epoch is null, 'not_captured', null) as unknown_reason,
    bumps.batches_again,
    bumps.records_again,
    bumps.again_offset,
    bumps.original_offset,
    bumps.first_offset,
    bumps.last_offset,
    bumps.from_time as first_written_at
from {{ source('silver', 'local_bumps') }} as bumps
left join {{ ref('int_idempotent_producers') }} as producers
    on bumps.cluster = producers.cluster and bumps.producer_id = producers.producer_id
left join told
    on
        bumps.cluster = told.cluster
        and bumps.producer_id = told.producer_id
        and bumps.producer_epoch = told.producer_epoch
