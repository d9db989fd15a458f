-- Each offset that was committed, beside the incarnation that it is of and the one that lived, and what
-- became of it since: a view, as any later chapter may tell.
with

commits as (
    select
        committed.*,
        extents.log_start_offset,
        extents.log_end_offset,
        coalesce(
            nullif(committed.origin_topic_id, ''), nullif(committed.live_topic_id, '')
        ) as newest_topic_id,
        case when stored.commit_id is not null then stored.is_newest else false end as is_stored
    from {{ ref('int_committed_offsets_decided') }} as committed
    left join {{ source('silver', 'stored_offsets') }} as stored
        on committed.cluster = stored.cluster and committed.commit_id = stored.commit_id
    left join {{ source('silver', 'partition_extents') }} as extents
        on
            committed.cluster = extents.cluster
            and committed.topic = extents.topic
            and committed.partition = extents.partition
            and extents.live
),

lives as (
    select
        commits.*,
        incarnations.removed_at as topic_removed_at,
        uses.outcome as used,
        -- where nothing tells it is of the one that lived or of one before it, if there was any
        case
            when commits.origin_topic_id <> '' then commits.origin_topic_id <> commits.live_topic_id
            when commits.origin_topic_id is null and incarnations.incarnation = 1 then false
        end as is_late,
        case
            when commits.origin_topic_id is not null or incarnations.incarnation = 1 or not incarnations.live
                then not incarnations.live
        end as is_gone,
        coalesce(uses.live_topic_id <> commits.newest_topic_id, false) as is_used_elsewhere
    from commits
    left join {{ source('silver', 'topic_incarnations') }} as incarnations
        on commits.cluster = incarnations.cluster and commits.newest_topic_id = incarnations.topic_id
    left join {{ ref('int_offset_uses') }} as uses
        on commits.cluster = uses.cluster and commits.commit_id = uses.commit_id
),

judged as (
    select
        *,
        case
            when error <> 'NONE' or committed_offset <= 0 or origin_topic_id = '' then false
            else is_late or is_used_elsewhere or (is_stored and is_gone)
        end as is_orphaned
    from lives
)

select
    cluster,
    commit_id,
    group_id,
    topic,
    partition,
    committed_at,
    committed_offset,
    committed_leader_epoch,
    by_id as is_by_id,
    committed_topic_id,
    origin_topic_id,
    origin_partition_epoch,
    live_topic_id,
    live_partition_epoch,
    live_leader_epoch,
    error,
    kip_232,
    shipped,
    is_stored,
    is_orphaned,
    is_late,
    topic_removed_at,
    used,
    log_start_offset,
    log_end_offset,
    case
        when kip_232 is null or shipped is null then coalesce(unknown_reason, 'topic_unknown')
        when error = 'NONE' and origin_topic_id is null and (is_orphaned is null or is_late is null)
            then 'client_unknown'
        when is_orphaned is null or is_stored is null then 'not_captured'
    end as unknown_reason,
    is_transactional,
    client_id,
    client_host,
    software_name,
    software_version,
    request_id,
    correlation_id,
    api_version,
    commit_partition,
    record_offset,
    from_position as met_from_position,
    to_position as met_to_position,
    file,
    position
from judged
