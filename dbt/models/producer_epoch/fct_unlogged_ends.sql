-- Committed transactions of which the request log has no EndTxn, although it has earlier and later lines of
-- their transactional id.
select
    cluster,
    transactional_id,
    producer_id,
    producer_epoch,
    partition as coordinator_partition,
    partition_key,
    record_offset,
    broker_id,
    prepared_at,
    chapter
from {{ in_changed_chapters(source('silver', 'unlogged_ends')) }}
