-- Each name of a topic, whatever topics have had it.
select
    cluster,
    topic,
    max_by(topic_id, struct(coalesce(created_position, -1) as position, topic_id)) as topic_id,
    count(*) as incarnations,
    cast(
        max_by(partitions, struct(coalesce(created_position, -1) as position, topic_id))
        filter (where partitions is not null) as bigint
    ) as partitions
from {{ source('silver', 'topic_incarnations') }}
where topic is not null
group by cluster, topic
