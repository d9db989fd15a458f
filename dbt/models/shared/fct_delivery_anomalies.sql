-- Records that consumers of a group skipped, read again or lost, each told once, whichever mart tells it.
with

-- where a consumer of a group began by auto.offset.reset: the other events leave to them what they tell
resets as (
    select * from {{ ref('fct_offset_resets') }}
    where group_id is not null
),

-- offsets in a transaction that had not ended when the consumer asked, and was told of none
pending as (
    select
        resets.cluster,
        resets.fetch_position_id,
        max_by(commits.committed_offset, commits.responded_at) as committed_offset,
        max_by(commits.transaction_outcome, commits.responded_at) as transaction_outcome
    from resets
    inner join {{ ref('fct_offset_commits') }} as commits
        on {{ open_when_asked('resets', 'commits') }}
    where resets.cause = 'pending_transaction'
    group by resets.cluster, resets.fetch_position_id
),

losses as (
    select
        *,
        records_lost > 0 as is_lossy
    from {{ ref('fct_leader_epochs') }}
    -- a clean election takes nothing that a group could read, unless the logs show that it did
    where records_lost > 0 or (records_lost is null and coalesce(how, 'unclean') = 'unclean')
),

cut_off as (
    select
        resets.cluster,
        resets.fetch_position_id,
        min(losses.lost_from) as lost_from
    from resets
    inner join losses
        on
            resets.cluster = losses.cluster
            and resets.live_topic_id = losses.topic_id
            and resets.partition = losses.partition
            and resets.offset_before > losses.lost_from
            and resets.requested_at >= losses.elected_at
    where resets.cause = 'truncated'
    group by resets.cluster, resets.fetch_position_id
),

-- up to where the group had read the log in which the consumer began
begun as (
    select
        resets.*,
        case
            when resets.records_read_again is not null then resets.offset_before
            when resets.cause = 'truncated' then cut_off.lost_from
            when resets.cause in ('topic_deleted', 'topic_recreated', 'never_committed')
                then resets.log_start_offset
            when pending.transaction_outcome = 'committed' then pending.committed_offset
            when pending.transaction_outcome = 'aborted' then resets.log_start_offset
        end as read_to,
        pending.transaction_outcome = 'pending' as is_pending
    from resets
    left join pending
        on resets.cluster = pending.cluster and resets.fetch_position_id = pending.fetch_position_id
    left join cut_off
        on resets.cluster = cut_off.cluster and resets.fetch_position_id = cut_off.fetch_position_id
),

orphans as (
    select
        offsets.*,
        coalesce(offsets.used = 'read_on', false) as is_read_on,
        case
            when offsets.used = 'read_on' then offsets.committed_offset
            when offsets.used is not null then offsets.next_offset
        end as went_on_at
    from {{ ref('fct_orphaned_offsets') }} as offsets
    left join {{ ref('int_offset_uses') }} as uses
        on offsets.cluster = uses.cluster and offsets.commit_id = uses.commit_id
    left join resets
        on
            uses.cluster = resets.cluster
            and uses.next_fetch_position_id = resets.fetch_position_id
            and uses.outcome <> 'read_on'
    where resets.fetch_position_id is null and coalesce(offsets.risk, '') <> 'no_topic'
),

-- how far each group had read when an election took records away; no group, if none had committed anything
readers as (
    select
        losses.cluster,
        losses.topic,
        losses.topic_id,
        losses.partition,
        losses.partition_key,
        losses.leader_epoch,
        losses.elected_at,
        losses.is_lossy,
        losses.unknown_reason,
        losses.lost_from,
        losses.lost_to,
        commits.group_id,
        if(
            max(commits.committed_offset) > losses.lost_from,
            least(max(commits.committed_offset), losses.lost_to),
            losses.lost_from
        ) as read_to,
        max_by(commits.commit_id, struct(commits.committed_offset, commits.commit_id)) as commit_id,
        max_by(commits.client_id, struct(commits.committed_offset, commits.commit_id)) as client_id,
        max_by(commits.file, struct(commits.committed_offset, commits.commit_id)) as file,
        max_by(commits.position, struct(commits.committed_offset, commits.commit_id)) as position
    from losses
    left join {{ source('silver', 'committed_offsets') }} as commits
        on
            losses.cluster = commits.cluster
            and losses.topic_id = coalesce(commits.origin_topic_id, commits.live_topic_id)
            and losses.partition = commits.partition
            and commits.error = 'NONE'
            and if(
                commits.committed_leader_epoch >= 0,
                losses.leader_epoch > commits.committed_leader_epoch,
                losses.elected_position >= commits.to_position
            )
    group by
        losses.cluster,
        losses.topic,
        losses.topic_id,
        losses.partition,
        losses.partition_key,
        losses.leader_epoch,
        losses.elected_at,
        losses.is_lossy,
        losses.unknown_reason,
        losses.lost_from,
        losses.lost_to,
        commits.group_id
),

-- of a group's offsets beyond a truncation the one that was used after it, else the highest
past_truncation as (
    select
        offsets.*,
        uses.next_fetch_position_id,
        offsets.used_at >= offsets.elected_at as is_used,
        row_number() over (
            partition by
                offsets.cluster, offsets.group_id, offsets.topic_id, offsets.partition, offsets.leader_epoch
            order by
                coalesce(offsets.used_at >= offsets.elected_at, false) desc,
                offsets.committed_offset desc,
                offsets.commit_id asc
        ) as place
    from {{ ref('fct_offsets_past_truncation') }} as offsets
    left join {{ ref('int_offset_uses') }} as uses
        on offsets.cluster = uses.cluster and offsets.commit_id = uses.commit_id
),

truncated as (
    select
        offsets.*,
        case
            when offsets.is_used and offsets.used = 'read_on' then offsets.committed_offset
            when offsets.is_used then offsets.next_offset
        end as went_on_at
    from past_truncation as offsets
    left join resets
        on
            offsets.cluster = resets.cluster
            and offsets.next_fetch_position_id = resets.fetch_position_id
            and offsets.used <> 'read_on'
    where offsets.place = 1 and resets.fetch_position_id is null
),

commits as (
    select
        *,
        coalesce(topic_id, topic) as topic_key,
        if(is_transactional, transaction_ended_at, responded_at) as stored_at,
        broker_answer = 'accept' and coalesce(outcome, 'committed') = 'committed' as is_stored
    from {{ ref('fct_offset_commits') }}
),

-- refused commits of members that had read up to there: the next to be stored tells who went on
refused as (
    select
        refusals.cluster,
        refusals.commit_id,
        min_by(next.commit_id, struct(next.stored_at, next.commit_id)) as next_commit_id,
        -- a member that owned the partition then, so that it had read up to there
        min_by(
            if(next.committer = 'member' and next.truth = 'owner', next.member_id, null),
            struct(next.stored_at, next.commit_id)
        ) as next_member_id,
        min_by(next.committed_offset, struct(next.stored_at, next.commit_id)) as next_committed_offset,
        min(next.stored_at) as next_stored_at
    from commits as refusals
    left join commits as next
        on
            refusals.cluster = next.cluster
            and refusals.group_id = next.group_id
            and refusals.topic_key = next.topic_key
            and refusals.partition = next.partition
            and next.is_stored
            and refusals.responded_at < next.stored_at
    where
        refusals.broker_answer = 'reject'
        and refusals.truth in ('owner', 'zombie', 'unknown')
        and coalesce(refusals.committed_offset > refusals.offset_before, true)
    group by refusals.cluster, refusals.commit_id
),

-- a consumer that asked for the stored offset after the refusal, before a newer one was stored
asked_again as (
    select
        commits.cluster,
        commits.commit_id,
        min_by(positions.fetch_offset, struct(positions.requested_at, positions.fetch_position_id))
            as fetch_offset,
        min(positions.requested_at) as requested_at
    from refused
    inner join commits
        on refused.cluster = commits.cluster and refused.commit_id = commits.commit_id
    inner join {{ source('silver', 'fetch_positions') }} as positions
        on
            commits.cluster = positions.cluster
            and commits.group_id = positions.group_id
            and commits.topic = positions.topic
            and commits.partition = positions.partition
            and positions.origin = 'committed'
            and positions.error = 'NONE'
            and commits.committed_offset > positions.fetch_offset
            and commits.responded_at <= positions.requested_at
            and coalesce(refused.next_stored_at >= positions.requested_at, true)
    group by commits.cluster, commits.commit_id
),

refusals as (
    select
        commits.*,
        asked_again.requested_at as asked_again_at,
        case
            when commits.truth = 'unknown' then null
            when asked_again.fetch_offset is not null then asked_again.fetch_offset
            -- another member began where the offset was stored
            when refused.next_member_id <> commits.member_id then commits.offset_before
        end as read_again_from,
        if(
            asked_again.fetch_offset is null,
            least(commits.committed_offset, refused.next_committed_offset),
            commits.committed_offset
        ) as read_again_to,
        -- of several that would have stored the same records, the furthest
        row_number() over (
            partition by
                commits.cluster,
                commits.group_id,
                commits.topic_key,
                commits.partition,
                commits.offset_before,
                refused.next_commit_id
            order by
                commits.truth = 'unknown' asc,
                commits.committed_offset desc,
                commits.commit_id asc
        ) as place
    from refused
    inner join commits
        on refused.cluster = commits.cluster and refused.commit_id = commits.commit_id
    left join asked_again
        on refused.cluster = asked_again.cluster and refused.commit_id = asked_again.commit_id
),

-- offsets that were set back, or without a member ahead, and whether a consumer began there
moved as (
    select
        commits.*,
        uses.outcome = 'read_on' as is_read_on,
        uses.used_at
    from commits
    left join {{ source('silver', 'committed_offsets') }} as stored
        on
            commits.cluster = stored.cluster
            and commits.request_id = stored.request_id
            and commits.topic = stored.topic
            and commits.partition = stored.partition
    left join {{ ref('int_offset_uses') }} as uses
        on stored.cluster = uses.cluster and stored.commit_id = uses.commit_id
    where
        commits.is_stored
        and (
            commits.offset_before > commits.committed_offset
            or (commits.offset_before < commits.committed_offset and commits.committer = 'administrator')
        )
),

-- somebody began there, and it is not known of which group
began_there as (
    select distinct
        moved.cluster,
        moved.commit_id
    from moved
    inner join {{ source('silver', 'fetch_positions') }} as positions
        on
            moved.cluster = positions.cluster
            and moved.topic = positions.topic
            and moved.partition = positions.partition
            and moved.committed_offset = positions.fetch_offset
            and positions.origin is null
            and positions.error = 'NONE'
            and moved.stored_at <= positions.requested_at
),

told as (
    select
        cluster,
        group_id,
        topic,
        live_topic_id as topic_id,
        partition,
        case when read_to < reset_to then 'skipped' when read_to > reset_to then 'read_again' end as kind,
        if(read_to is null, null, least(read_to, reset_to)) as from_offset,
        if(read_to is null, null, greatest(read_to, reset_to)) as to_offset,
        requested_at as occurred_at,
        cause,
        case
            when read_to is null
                then coalesce(unknown_reason, if(is_pending, 'evidence_ends', 'client_unknown'))
        end as unknown_reason,
        client_id,
        'fct_offset_resets' as source_mart,
        fetch_position_id as source_id,
        file,
        position
    from begun
    where coalesce(read_to <> reset_to, true)
    union all
    select
        cluster,
        group_id,
        topic,
        live_topic_id as topic_id,
        partition,
        if(went_on_at is null or records_skipped is null, null, 'skipped') as kind,
        if(used is null, log_start_offset, went_on_at - records_skipped) as from_offset,
        if(used is null, least(committed_offset, log_end_offset), went_on_at) as to_offset,
        coalesce(used_at, committed_at) as occurred_at,
        cause,
        case
            when used is not null and went_on_at is null then 'evidence_ends'
            when used is null or records_skipped is null then 'not_captured'
            when cause is null then unknown_reason
        end as unknown_reason,
        coalesce(used_by, client_id) as client_id,
        'fct_orphaned_offsets' as source_mart,
        commit_id as source_id,
        file,
        position
    from orphans
    where coalesce(if(used is null, records_at_risk, records_skipped) > 0, true)
    union all
    select
        cluster,
        group_id,
        topic,
        topic_id,
        partition,
        'lost_after_read' as kind,
        lost_from as from_offset,
        read_to as to_offset,
        elected_at as occurred_at,
        'truncated' as cause,
        cast(null as string) as unknown_reason,
        client_id,
        'fct_offsets_past_truncation' as source_mart,
        commit_id as source_id,
        file,
        position
    from readers
    where is_lossy and read_to > lost_from
    union all
    select
        cluster,
        group_id,
        topic,
        topic_id,
        partition,
        if(is_lossy, 'lost_unread', null) as kind,
        read_to as from_offset,
        lost_to as to_offset,
        elected_at as occurred_at,
        if(is_lossy, 'truncated', null) as cause,
        if(is_lossy, null, unknown_reason) as unknown_reason,
        cast(null as string) as client_id,
        'fct_leader_epochs' as source_mart,
        concat(partition_key, ':', leader_epoch) as source_id,
        cast(null as string) as file,
        cast(null as bigint) as position
    from readers
    where coalesce(read_to < lost_to, true)
    union all
    select
        cluster,
        group_id,
        topic,
        topic_id,
        partition,
        case
            when went_on_at > lost_from then 'skipped' when went_on_at < lost_from then 'read_again'
        end as kind,
        if(is_used, least(lost_from, went_on_at), lost_from) as from_offset,
        case
            when went_on_at is not null then greatest(lost_from, went_on_at)
            when not coalesce(is_used, false) then lost_from + records_at_risk
        end as to_offset,
        coalesce(used_at, elected_at) as occurred_at,
        'truncated' as cause,
        case
            when went_on_at is null then if(coalesce(is_used, false), 'evidence_ends', 'not_captured')
        end as unknown_reason,
        coalesce(used_by, client_id) as client_id,
        'fct_offsets_past_truncation' as source_mart,
        commit_id as source_id,
        file,
        position
    from truncated
    where
        coalesce(
            if(coalesce(is_used, false), went_on_at <> lost_from, records_at_risk > 0),
            true
        )
    union all
    select
        cluster,
        group_id,
        topic,
        topic_id,
        partition,
        if(read_again_from is null, null, 'read_again') as kind,
        coalesce(read_again_from, offset_before) as from_offset,
        if(read_again_from is null, committed_offset, read_again_to) as to_offset,
        coalesce(asked_again_at, responded_at) as occurred_at,
        case truth when 'owner' then 'owner_refused' when 'zombie' then 'zombie_refused' end as cause,
        case
            when truth = 'unknown' then coalesce(unknown_reason, 'not_captured')
            when read_again_from is null then 'not_captured'
        end as unknown_reason,
        client_id,
        if(is_spurious, 'fct_false_fencing', 'fct_offset_commits') as source_mart,
        if(is_spurious, request_id, commit_id) as source_id,
        file,
        position
    from refusals
    where place = 1 and coalesce(read_again_to > read_again_from, true)
    union all
    select
        moved.cluster,
        moved.group_id,
        moved.topic,
        moved.topic_id,
        moved.partition,
        case
            when not coalesce(moved.is_read_on, false) then null
            when moved.committed_offset < moved.offset_before then 'read_again'
            when moved.committed_offset > moved.offset_before then 'skipped'
        end as kind,
        least(moved.committed_offset, moved.offset_before) as from_offset,
        greatest(moved.committed_offset, moved.offset_before) as to_offset,
        coalesce(moved.used_at, moved.stored_at) as occurred_at,
        case
            when moved.committer = 'administrator' then 'set_without_member'
            when moved.truth = 'zombie' then 'set_back_by_zombie'
            when moved.truth = 'not_owner' then 'set_back_by_not_owner'
            else 'set_back'
        end as cause,
        case
            when coalesce(moved.is_read_on, false) then null
            when began_there.commit_id is not null then 'client_unknown'
            else 'not_captured'
        end as unknown_reason,
        moved.client_id,
        'fct_offset_commits' as source_mart,
        moved.commit_id as source_id,
        moved.file,
        moved.position
    from moved
    left join began_there
        on moved.cluster = began_there.cluster and moved.commit_id = began_there.commit_id
)

select
    cluster,
    group_id,
    topic,
    topic_id,
    partition,
    kind,
    from_offset,
    to_offset,
    to_offset - from_offset as records,
    occurred_at,
    cause,
    unknown_reason,
    client_id,
    source_mart,
    source_id,
    file,
    position
from told
