-- Who was elected in each partition, how, and what the election lost.
with

-- no metadata log has their elections, or those before their migration
kept_in_zookeeper as (
    select distinct cluster
    from {{ source('silver', 'partition_batches') }}
    where given_unknown = 'in_zookeeper'
)

select
    epochs.cluster,
    epochs.topic,
    epochs.topic_id,
    epochs.partition,
    epochs.partition_key,
    epochs.leader_epoch,
    epochs.leader,
    epochs.previous_leader,
    epochs.how,
    epochs.elected_at,
    lead(epochs.elected_at) over history as replaced_at,
    epochs.elected_position,
    epochs.start_offset,
    epochs.end_offset,
    epochs.batches,
    epochs.records,
    epochs.records_lost,
    epochs.lost_from,
    epochs.lost_to,
    epochs.lost_leader_epoch,
    epochs.lost_brokers,
    epochs.checkpoint_agrees,
    if(
        epochs.leader is null or epochs.how is null or epochs.records_lost is null,
        case
            when kept_in_zookeeper.cluster is null or epochs.elected_at is not null then 'not_captured'
            else 'in_zookeeper'
        end,
        null
    ) as unknown_reason,
    epochs.leaders_moved,
    epochs.failed_log_dir,
    epochs.elected_by,
    epochs.elected_by_client_id,
    epochs.elected_request_id
from {{ source('silver', 'leader_epochs') }} as epochs
left join kept_in_zookeeper on epochs.cluster = kept_in_zookeeper.cluster
window history as (partition by epochs.cluster, epochs.partition_key order by epochs.leader_epoch)
