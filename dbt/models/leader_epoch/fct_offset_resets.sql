-- Consumers that began where auto.offset.reset says: what they had before, why that was of no use, and which
-- records they read again or skipped.
{%- set of_one_topic = "('expired', 'offset_deleted', 'group_deleted', 'records_deleted', 'retention')" %}
with

resets as (
    select * from {{ ref('int_offset_resets') }}
),

holes as (
    select distinct
        resets.cluster,
        resets.fetch_position_id
    from resets
    inner join {{ source('silver', 'metadata_coverage') }} as pieces
        on
            resets.cluster = pieces.cluster
            and pieces.topic = '__consumer_offsets'
            and not pieces.covered
            and coalesce(resets.requested_at >= pieces.from_time, true)
    where
        pieces.partition = coalesce(resets.removed_commit_partition, pieces.partition)
        and coalesce(pieces.to_time >= resets.removed_at, true)
),

-- commits in transactions that were open when the consumer asked: without requireStable it is told of none
pending as (
    select distinct
        resets.cluster,
        resets.fetch_position_id
    from resets
    inner join {{ source('silver', 'offset_commits') }} as commits
        on {{ open_when_asked('resets', 'commits') }}
    where resets.is_without_offset
),

-- the log began behind the offset that was refused: what its broker wrote of that into its server.log
log_starts as (
    select
        resets.cluster,
        resets.fetch_position_id,
        max(lines.reason = 'client delete records request') as is_requested
    from resets
    inner join {{ source('bronze', 'broker_lines') }} as lines
        on
            resets.cluster = lines.cluster
            and resets.topic = lines.topic
            and resets.partition = lines.partition
            and resets.refused_offset < lines.log_start_offset
            and lines.logged_at_ms <= unix_millis(resets.refused_at) + 250
    inner join {{ source('silver', 'topic_incarnations') }} as incarnations
        on
            resets.cluster = incarnations.cluster
            and resets.refused_live_topic_id = incarnations.topic_id
            and lines.logged_at_ms >= unix_millis(incarnations.created_at)
    where lines.event = 'log_start' and lines.reason in ('client delete records request', 'segment deletion')
    group by resets.cluster, resets.fetch_position_id
),

deleted_records as (
    select
        resets.cluster,
        resets.fetch_position_id,
        min_by(requests.client_id, struct(requests.requested_at, requests.request_id)) as client_id,
        min_by(requests.principal, struct(requests.requested_at, requests.request_id)) as principal,
        min_by(requests.request_id, struct(requests.requested_at, requests.request_id)) as request_id
    from resets
    inner join {{ source('silver', 'removal_requests') }} as requests
        on
            resets.cluster = requests.cluster
            and resets.topic = requests.topic
            and resets.partition = requests.partition
            and resets.refused_offset < requests.low_watermark
            and resets.refused_at >= requests.requested_at
    inner join {{ source('silver', 'topic_incarnations') }} as incarnations
        on
            resets.cluster = incarnations.cluster
            and resets.refused_live_topic_id = incarnations.topic_id
            and requests.requested_at >= incarnations.created_at
    where requests.api_name = 'DELETE_RECORDS'
    group by resets.cluster, resets.fetch_position_id
),

-- whether elections cut off the log of the incarnation below the offset, or never cut it off
truncations as (
    select
        resets.cluster,
        resets.fetch_position_id,
        max(
            epochs.records_lost > 0
            and epochs.lost_from < resets.refused_offset
            and epochs.elected_at <= resets.refused_at
        ) as is_cut_off,
        count_if(epochs.records_lost = 0) = count(*) as is_whole
    from resets
    inner join {{ source('silver', 'leader_epochs') }} as epochs
        on
            resets.cluster = epochs.cluster
            and resets.refused_live_topic_id = epochs.topic_id
            and resets.partition = epochs.partition
    group by resets.cluster, resets.fetch_position_id
),

-- clusters whose coordinators' topic has had all of its partitions from the beginning: a group stays in one
lasting as (
    select incarnations.cluster
    from {{ source('silver', 'topic_incarnations') }} as incarnations
    inner join {{ source('silver', 'partitions') }} as partitions
        on
            incarnations.cluster = partitions.cluster
            and incarnations.topic_id = partitions.topic_id
            and incarnations.created_at = partitions.from_time
    where incarnations.topic = '__consumer_offsets'
    group by incarnations.cluster
    having
        count(distinct incarnations.topic_id) = 1
        and max(incarnations.incarnation) = 1
        and count(distinct partitions.partition) = max(incarnations.partitions)
),

coordinators_known as (
    select
        cluster,
        partition,
        max(last_time) as last_time
    from {{ source('silver', 'metadata_coverage') }}
    where topic = '__consumer_offsets'
    group by cluster, partition
),

homes as (
    select
        resets.cluster,
        resets.fetch_position_id,
        max(if(lasting.cluster is not null, pieces.coordinator_partition, null)) as coordinator_partition
    from resets
    left join {{ source('silver', 'coverage') }} as pieces
        on resets.cluster = pieces.cluster and resets.group_id = pieces.group_id
    left join lasting
        on resets.cluster = lasting.cluster
    where resets.is_without_offset
    group by resets.cluster, resets.fetch_position_id
),

coordinators as (
    select
        cluster,
        topic_id,
        partition,
        min(from_position) as from_position,
        count_if(not covered) as holes
    from {{ source('silver', 'metadata_coverage') }}
    where topic = '__consumer_offsets'
    group by cluster, topic_id, partition
),

-- the group's log, if it is known from its first record on; if nothing tells which one that is, all of them
whole_coordinators as (
    select
        homes.cluster,
        homes.fetch_position_id
    from homes
    inner join coordinators
        on
            homes.cluster = coordinators.cluster
            and coordinators.partition = coalesce(homes.coordinator_partition, coordinators.partition)
    inner join {{ source('silver', 'topic_incarnations') }} as incarnations
        on coordinators.cluster = incarnations.cluster and coordinators.topic_id = incarnations.topic_id
    group by homes.cluster, homes.fetch_position_id
    having
        max(coordinators.from_position) = 0
        and max(coordinators.holes) = 0
        and count(distinct coordinators.topic_id) = 1
        and max(incarnations.incarnation) = 1
        and count(*) = if(max(homes.coordinator_partition) is null, max(incarnations.partitions), 1)
),

-- until when the log of the group is known; if nothing tells which one that is, all of them
known_until as (
    select
        homes.cluster,
        homes.fetch_position_id,
        if(count(logs.last_time) = count(*), min(logs.last_time), null) as last_time
    from homes
    inner join coordinators_known as logs
        on
            homes.cluster = logs.cluster
            and logs.partition = coalesce(homes.coordinator_partition, logs.partition)
    group by homes.cluster, homes.fetch_position_id
),

with_commits as (
    select distinct
        resets.cluster,
        resets.fetch_position_id
    from resets
    inner join {{ source('silver', 'committed_offsets') }} as commits
        on
            resets.cluster = commits.cluster
            and resets.group_id = commits.group_id
            and resets.topic = commits.topic
            and resets.partition = commits.partition
            and resets.requested_at >= commits.committed_at
    where resets.is_without_offset
),

explained as (
    select
        resets.*,
        deleted_records.client_id as deleted_by_client_id,
        deleted_records.principal as deleted_by,
        topics.tiered_storage,
        log_starts.is_requested as is_log_start_requested,
        case
            when pending.fetch_position_id is not null then 'pending_transaction'
            when
                resets.is_without_offset
                and resets.removed_commit_id is null
                and with_commits.fetch_position_id is null
                and known_until.last_time >= resets.requested_at
                and whole_coordinators.cluster is not null
                then 'never_committed'
            when resets.is_without_offset and holes.fetch_position_id is null then resets.removed_by
            when resets.refused_id is null then null
            when resets.refused_topic_id <> '' and resets.refused_topic_id <> resets.refused_live_topic_id
                then 'topic_recreated'
            -- of an offset of an incarnation that nothing tells, nothing tells what became of its record
            when resets.refused_topic_id <> resets.refused_live_topic_id then null
            when resets.refused_topic_id is null or resets.refused_live_topic_id is null then null
            -- a broker that answers so to a client has the records, in the remote tier
            when resets.refused_error = 'OFFSET_MOVED_TO_TIERED_STORAGE' then 'tiered_storage'
            when log_starts.is_requested or deleted_records.request_id is not null then 'records_deleted'
            -- who disables tiered storage may have its records deleted, and the line is the same
            when not log_starts.is_requested and topics.tiered_storage in ('never', 'enabled')
                then 'retention'
            when not log_starts.is_requested then null
            -- the begin of a log only grows: where it is not behind the offset now, the end was before it
            when resets.live_topic_id is null or resets.live_topic_id <> resets.refused_live_topic_id
                then null
            when resets.log_start_offset > resets.refused_offset or resets.log_start_offset is null then null
            when truncations.is_cut_off then 'truncated'
            when truncations.is_whole and extents.log_end_offset < resets.refused_offset then 'beyond_the_end'
        end as cause,
        coalesce(
            resets.is_removed_of_live_topic and holes.fetch_position_id is null,
            resets.refused_topic_id = resets.live_topic_id
        ) as is_comparable,
        coalesce(resets.refused_offset, if(holes.fetch_position_id is null, resets.removed_offset, null))
            as offset_before
    from resets
    left join holes
        on resets.cluster = holes.cluster and resets.fetch_position_id = holes.fetch_position_id
    left join pending
        on resets.cluster = pending.cluster and resets.fetch_position_id = pending.fetch_position_id
    left join log_starts
        on resets.cluster = log_starts.cluster and resets.fetch_position_id = log_starts.fetch_position_id
    left join deleted_records
        on
            resets.cluster = deleted_records.cluster
            and resets.fetch_position_id = deleted_records.fetch_position_id
    left join truncations
        on resets.cluster = truncations.cluster and resets.fetch_position_id = truncations.fetch_position_id
    left join with_commits
        on resets.cluster = with_commits.cluster and resets.fetch_position_id = with_commits.fetch_position_id
    left join whole_coordinators
        on
            resets.cluster = whole_coordinators.cluster
            and resets.fetch_position_id = whole_coordinators.fetch_position_id
    left join known_until
        on
            resets.cluster = known_until.cluster
            and resets.fetch_position_id = known_until.fetch_position_id
    left join {{ source('silver', 'partition_extents') }} as extents
        on
            resets.cluster = extents.cluster
            and resets.topic = extents.topic
            and resets.partition = extents.partition
            and resets.refused_live_topic_id = extents.topic_id
            and extents.live
    left join {{ source('silver', 'topic_incarnations') }} as topics
        on
            resets.cluster = topics.cluster
            and coalesce(resets.refused_live_topic_id, resets.live_topic_id) = topics.topic_id
)

select
    cluster,
    fetch_position_id,
    group_id,
    topic,
    partition,
    requested_at,
    client_id,
    client_host,
    case
        when refused_id is not null then 'out_of_range' when is_without_offset then 'no_offset'
    end as reset_because,
    cause,
    case
        when refused_id is null and not is_without_offset then 'client_unknown'
        when cause is null and not is_log_start_requested and tiered_storage = 'deletes_when_disabled'
            then 'not_logged'
        -- the session's earlier request, which listed the offset, is not known
        when cause is null and refused_id is not null and refused_offset is null then 'client_unknown'
        when cause is null then 'not_captured'
    end as unknown_reason,
    tiered_storage,
    offset_before,
    fetch_offset as reset_to,
    case
        when log_start_offset = high_watermark or high_watermark = 0 then 'empty_log'
        when fetch_offset = log_start_offset or fetch_offset = 0 then 'beginning'
        when fetch_offset >= high_watermark then 'end'
        -- answers to Fetch before version 5 do not say where the log begins
        when log_start_offset is not null then 'between'
    end as began_where,
    -- offsets of one topic alone can be compared
    case
        when is_comparable and cause in {{ of_one_topic }} then greatest(0, offset_before - fetch_offset)
    end as records_read_again,
    case
        when is_comparable and cause in {{ of_one_topic }} then greatest(0, fetch_offset - offset_before)
    end as records_skipped,
    if(is_without_offset, removed_at, null) as removed_at,
    removed_commit_id,
    if(cause = 'records_deleted', deleted_by_client_id, null) as deleted_by_client_id,
    if(cause = 'records_deleted', deleted_by, null) as deleted_by,
    log_start_offset,
    high_watermark,
    live_topic_id,
    request_id,
    file,
    position
from explained
