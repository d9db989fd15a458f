-- Each name of a topic, whatever topics have had it: of the metadata log, and of other logs that it lacks.
with known as (
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
),

captured as (
    select
        extents.cluster,
        extents.topic,
        case when count(distinct extents.topic_id) = 1 then max(extents.topic_id) end as topic_id
    from {{ source('silver', 'partition_extents') }} as extents
    left join known on extents.cluster = known.cluster and extents.topic = known.topic
    where known.topic is null and extents.topic is not null
    group by extents.cluster, extents.topic
)

select
    cluster,
    topic,
    topic_id,
    incarnations,
    partitions
from known
union all
select
    cluster,
    topic,
    topic_id,
    cast(null as bigint) as incarnations,
    cast(null as bigint) as partitions
from captured
