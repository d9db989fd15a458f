-- Committed offsets of an incarnation that is gone: what going on from one skips, and what was done with it.
with

orphans as (
    select
        commits.*,
        groups.group_type,
        newest.topic_id as newest_topic_id,
        newest.incarnation as newest_incarnation,
        earlier.incarnation as origin_incarnation,
        uses.used_at,
        uses.client_id as used_by,
        uses.client_host as used_by_host,
        uses.error as use_error,
        uses.next_origin,
        uses.next_offset,
        uses.records_below,
        row_number() over (
            partition by commits.cluster, commits.commit_id order by newest.from_position desc
        ) as place
    from {{ ref('fct_committed_offsets') }} as commits
    left join {{ ref('dim_group') }} as groups
        on commits.cluster = groups.cluster and commits.group_id = groups.group_id
    left join {{ source('silver', 'topic_incarnations') }} as newest
        on commits.cluster = newest.cluster and commits.topic = newest.topic and newest.live
    left join {{ source('silver', 'topic_incarnations') }} as earlier
        on commits.cluster = earlier.cluster and commits.origin_topic_id = earlier.topic_id
    left join {{ ref('int_offset_uses') }} as uses
        on commits.cluster = uses.cluster and commits.commit_id = uses.commit_id
    where commits.is_orphaned
)

select
    cluster,
    group_id,
    topic,
    partition,
    commit_id,
    committed_at,
    committed_offset,
    committed_leader_epoch,
    origin_topic_id,
    origin_incarnation,
    newest_topic_id as live_topic_id,
    newest_incarnation as live_incarnation,
    case when is_late then 'late_commit' when not is_late then 'topic_deleted' end as cause,
    topic_removed_at,
    is_stored,
    if(newest_topic_id is null, null, log_start_offset) as log_start_offset,
    if(newest_topic_id is null, null, log_end_offset) as log_end_offset,
    case
        when newest_topic_id is null then 'no_topic'
        when committed_offset < log_start_offset or committed_offset > log_end_offset then 'out_of_range'
        when committed_offset >= log_start_offset and committed_offset <= log_end_offset then 'skips'
    end as risk,
    if(
        newest_topic_id is null,
        null,
        greatest(0, least(committed_offset, log_end_offset) - log_start_offset)
    ) as records_at_risk,
    case
        when is_late is null
            then coalesce(unknown_reason, if(origin_topic_id is null, 'client_unknown', 'several_states'))
        when is_stored is null or (newest_topic_id is not null and log_end_offset is null) then 'not_captured'
    end as unknown_reason,
    used,
    used_at,
    used_by,
    used_by_host,
    use_error,
    next_origin,
    next_offset,
    records_below as records_skipped,
    kip_232,
    shipped,
    client_id,
    software_name,
    software_version,
    if(
        is_stored and newest_topic_id is not null,
        concat(
            if(group_type = 'streams', 'kafka-streams-groups.sh', 'kafka-consumer-groups.sh'),
            ' --bootstrap-server BROKER:9092 --group',
            -- what begins with a dash would be taken for an option
            if(group_id like '-%', '=', ' '),
            {{ shell_word('group_id') }},
            if(group_type = 'streams', ' --input-topic', ' --topic'),
            if(topic like '-%', '=', ' '),
            {{ shell_word("concat(topic, ':', partition)") }},
            ' --reset-offsets --to-earliest --execute'
        ),
        null
    ) as remedy,
    request_id,
    file,
    position
from orphans
where place = 1
