-- Committed offsets behind the place where an election lost records that their consumer had read.
with

losses as (
    select
        cluster,
        topic_id,
        partition,
        leader_epoch,
        leader,
        how,
        elected_at,
        elected_position,
        end_offset,
        records_lost,
        lost_from,
        lost_to,
        lost_leader_epoch
    from {{ source('silver', 'leader_epochs') }}
    where records_lost > 0
)

select
    commits.cluster,
    commits.group_id,
    commits.topic,
    commits.partition,
    losses.topic_id,
    commits.commit_id,
    commits.committed_at,
    commits.committed_offset,
    commits.committed_leader_epoch,
    losses.leader_epoch,
    losses.leader,
    losses.how,
    losses.elected_at,
    losses.lost_from,
    losses.lost_to,
    losses.records_lost,
    least(commits.committed_offset, losses.lost_to) - losses.lost_from as records_read_and_lost,
    least(commits.committed_offset, commits.log_end_offset) - losses.lost_from as records_at_risk,
    commits.is_stored,
    if(commits.is_stored is null or commits.log_end_offset is null, 'not_captured', null) as unknown_reason,
    commits.used,
    uses.used_at,
    uses.client_id as used_by,
    uses.next_origin,
    uses.next_offset,
    commits.client_id,
    commits.software_name,
    commits.software_version,
    commits.request_id,
    commits.file,
    commits.position
from {{ ref('fct_committed_offsets') }} as commits
inner join losses
    on
        commits.cluster = losses.cluster
        and coalesce(commits.origin_topic_id, commits.live_topic_id) = losses.topic_id
        and commits.partition = losses.partition
        and commits.committed_offset > losses.lost_from
        -- without a leader epoch only a commit from before the election is known to be of what was lost
        and if(
            commits.committed_leader_epoch >= 0,
            commits.committed_leader_epoch < losses.leader_epoch,
            commits.met_to_position <= losses.elected_position
        )
left join {{ ref('int_offset_uses') }} as uses
    on commits.cluster = uses.cluster and commits.commit_id = uses.commit_id
where commits.error = 'NONE'
