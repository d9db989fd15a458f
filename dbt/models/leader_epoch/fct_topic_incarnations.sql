-- Each topic from its creation to its deletion: a name that is used again is another topic.
select
    cluster,
    topic,
    topic_id,
    incarnation,
    previous_topic_id,
    live as is_live,
    cast(partitions as bigint) as partitions,
    if(incarnation is null or live is null or partitions is null, 'not_captured', null) as unknown_reason,
    created_at,
    created_by,
    created_by_client_id,
    removed_at,
    removed_by,
    removed_by_client_id,
    first_partition_epoch,
    max_partition_epoch,
    removed_partition_epoch,
    created_position,
    removed_position,
    created_request_id,
    removed_request_id
from {{ source('silver', 'topic_incarnations') }}
