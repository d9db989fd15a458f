-- Epochs that producers without a transactional id gave themselves, and what they wrote again under them.
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
    bumps.batches,
    bumps.records,
    bumps.written_twice as is_written_twice,
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
