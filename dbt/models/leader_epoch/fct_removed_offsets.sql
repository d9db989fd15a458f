-- Committed offsets that were removed, each with what removed it.
with

removals as (
    select
        *,
        unix_millis(removed_at) as removed_ms
    from {{ source('silver', 'offset_removals') }}
),

-- the request that was being handled when the tombstone was written; a second one finds nothing to remove
requested as (
    select
        removals.cluster,
        removals.commit_id,
        requests.request_id,
        requests.api_name,
        requests.client_id,
        requests.client_host,
        requests.principal,
        requests.file,
        requests.position,
        row_number() over (
            partition by removals.cluster, removals.commit_id
            order by requests.requested_at, requests.request_id
        ) as place
    from removals
    inner join {{ source('silver', 'removal_requests') }} as requests
        on
            removals.cluster = requests.cluster
            and removals.group_id = requests.group_id
            and (
                requests.api_name = 'DELETE_GROUPS'
                or (removals.topic = requests.topic and removals.partition = requests.partition)
            )
            and removals.removed_ms >= unix_millis(requests.requested_at) - 100
            and removals.removed_ms <= unix_millis(requests.responded_at) + 100
),

-- a coordinator removes the offsets of a topic as soon as it has applied the record of its deletion
deleted_topics as (
    select
        removals.cluster,
        removals.commit_id,
        incarnations.topic_id,
        incarnations.removed_by_client_id,
        incarnations.removed_by,
        incarnations.removed_request_id,
        row_number() over (
            partition by removals.cluster, removals.commit_id order by incarnations.removed_at desc
        ) as place
    from removals
    inner join {{ source('silver', 'topic_incarnations') }} as incarnations
        on
            removals.cluster = incarnations.cluster
            and removals.topic = incarnations.topic
            and removals.removed_ms >= unix_millis(incarnations.removed_at) - 1000
            and removals.removed_ms <= unix_millis(incarnations.removed_at) + 60000
            and unix_millis(removals.committed_at) <= unix_millis(incarnations.removed_at) + 1000
),

-- what the coordinator's broker wrote into its server.log
told as (
    select
        removals.cluster,
        removals.commit_id,
        max(lines.event = 'groups_deleted') as is_group_deleted,
        max(lines.event = 'expired') as is_expired,
        min_by(lines.file, lines.logged_at_ms) as file,
        min_by(lines.position, lines.logged_at_ms) as position
    from removals
    inner join {{ source('bronze', 'broker_lines') }} as lines
        on
            removals.cluster = lines.cluster
            and removals.commit_partition = coalesce(lines.coordinator_partition, removals.commit_partition)
            and (
                lines.event = 'expired'
                or (lines.event = 'groups_deleted' and removals.group_id = lines.reason)
            )
            and removals.removed_ms >= lines.logged_at_ms - coalesce(lines.took_ms, 0) - 250
            and removals.removed_ms <= lines.logged_at_ms + 250
    group by removals.cluster, removals.commit_id
)

select
    removals.cluster,
    removals.group_id,
    removals.topic,
    removals.partition,
    removals.commit_id,
    removals.committed_offset,
    removals.committed_at,
    removals.removed_at,
    case
        when requested.api_name = 'OFFSET_DELETE' then 'offset_deleted'
        when requested.api_name = 'DELETE_GROUPS' then 'group_deleted'
        when deleted_topics.topic_id is not null then 'topic_deleted'
        when told.is_group_deleted then 'group_deleted'
        when told.is_expired then 'expired'
    end as ended_by,
    case
        when requested.api_name is not null then 'request_log'
        when deleted_topics.topic_id is not null then 'metadata_log'
        when told.is_group_deleted or told.is_expired then 'server_log'
    end as told_by,
    if(
        coalesce(requested.api_name, deleted_topics.topic_id) is null
        and not coalesce(told.is_group_deleted or told.is_expired, false),
        'not_captured',
        null
    ) as unknown_reason,
    coalesce(requested.client_id, deleted_topics.removed_by_client_id) as removed_by_client_id,
    requested.client_host as removed_by_host,
    coalesce(requested.principal, deleted_topics.removed_by) as removed_by,
    removals.commit_partition,
    removals.removed_position,
    coalesce(requested.request_id, deleted_topics.removed_request_id) as request_id,
    case
        when requested.api_name is not null then requested.file
        when deleted_topics.topic_id is null then told.file
    end as file,
    case
        when requested.api_name is not null then requested.position
        when deleted_topics.topic_id is null then told.position
    end as position
from removals
left join requested
    on
        removals.cluster = requested.cluster
        and removals.commit_id = requested.commit_id
        and requested.place = 1
left join deleted_topics
    on
        removals.cluster = deleted_topics.cluster
        and removals.commit_id = deleted_topics.commit_id
        and deleted_topics.place = 1
left join told
    on removals.cluster = told.cluster and removals.commit_id = told.commit_id
