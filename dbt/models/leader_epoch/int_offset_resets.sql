-- Consumers that began where auto.offset.reset says, each with what it had before: the fetch that was
-- refused, or the removal of its offset.
with

positions as (
    select * from {{ source('silver', 'fetch_positions') }}
),

resets as (
    select
        positions.cluster,
        positions.fetch_position_id,
        coalesce(positions.reset_group_id, refused.group_id) as group_id,
        positions.topic,
        positions.partition,
        positions.client_id,
        positions.client_host,
        positions.requested_at,
        positions.fetch_offset,
        positions.live_topic_id,
        positions.log_start_offset,
        positions.high_watermark,
        positions.request_id,
        positions.file,
        positions.position,
        positions.reset_group_id is not null as is_without_offset,
        refused.fetch_position_id as refused_id,
        refused.fetch_offset as refused_offset,
        -- a fetch that waits for records is refused at its end
        coalesce(refused.responded_at, refused.requested_at) as refused_at,
        refused.error as refused_error,
        refused.live_topic_id as refused_live_topic_id,
        refused.origin_topic_id as refused_topic_id
    from positions
    left join positions as refused
        on
            positions.cluster = refused.cluster
            and positions.fetch_position_id = refused.next_fetch_position_id
            and refused.error in ('OFFSET_OUT_OF_RANGE', 'OFFSET_MOVED_TO_TIERED_STORAGE')
            and positions.reset_group_id is null
    where positions.origin = 'reset' and positions.error = 'NONE'
),

-- the newest removal before; nothing hides a later one, or a commit after it
removed as (
    select
        resets.cluster,
        resets.fetch_position_id,
        removals.commit_id,
        removals.committed_offset,
        removals.ended_by,
        removals.removed_at,
        removals.commit_partition,
        incarnations.created_at <= removals.committed_at as is_of_live_topic,
        row_number() over (
            partition by resets.cluster, resets.fetch_position_id
            order by removals.removed_at desc, removals.removed_position desc
        ) as place
    from resets
    inner join {{ ref('fct_removed_offsets') }} as removals
        on
            resets.cluster = removals.cluster
            and resets.group_id = removals.group_id
            and resets.topic = removals.topic
            and resets.partition = removals.partition
            and unix_millis(removals.removed_at) <= unix_millis(resets.requested_at) + 1000
    left join {{ source('silver', 'topic_incarnations') }} as incarnations
        on resets.cluster = incarnations.cluster and resets.live_topic_id = incarnations.topic_id
    where resets.is_without_offset
)

select
    resets.*,
    removed.commit_id as removed_commit_id,
    removed.commit_partition as removed_commit_partition,
    removed.committed_offset as removed_offset,
    removed.ended_by as removed_by,
    removed.removed_at,
    removed.is_of_live_topic as is_removed_of_live_topic
from resets
left join removed
    on
        resets.cluster = removed.cluster
        and resets.fetch_position_id = removed.fetch_position_id
        and removed.place = 1
