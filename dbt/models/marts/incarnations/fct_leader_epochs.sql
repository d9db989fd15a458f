-- Who was elected in each partition, how, and what the election lost.
select
    cluster,
    topic,
    topic_id,
    partition,
    partition_key,
    leader_epoch,
    leader,
    previous_leader,
    how,
    elected_at,
    lead(elected_at) over history as replaced_at,
    elected_position,
    start_offset,
    end_offset,
    batches,
    records,
    records_lost,
    lost_from,
    lost_to,
    lost_leader_epoch,
    lost_brokers,
    checkpoint_agrees,
    leaders_moved
from {{ source('silver', 'leader_epochs') }}
window history as (partition by cluster, partition_key order by leader_epoch)
