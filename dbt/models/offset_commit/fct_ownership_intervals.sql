-- Who owned which partition or active task, from when to when, and who came next.
with

intervals as (
    select
        cluster,
        group_id,
        life,
        topic,
        topic_id,
        subtopology_id,
        partition,
        partition_key,
        member_id,
        owned_since as from_position,
        case when count(to_position) = count(*) then max(to_position) end as to_position,
        min(from_time) as from_time,
        case when count(to_position) = count(*) then max(to_time) end as to_time,
        min(from_time) filter (where pending_revocation) as pending_revocation_since,
        -- while a row goes on both epochs rise alike
        max_by(assignment_epoch + last_member_epoch - member_epoch, from_position) as assignment_epoch,
        min(member_epoch) as first_member_epoch,
        max(last_member_epoch) as last_member_epoch
    from {{ source('silver', 'owned_partitions') }}
    group by
        cluster,
        group_id,
        life,
        topic,
        topic_id,
        subtopology_id,
        partition,
        partition_key,
        member_id,
        owned_since
),

followed as (
    select
        *,
        lead(member_id) over same_partition as next_member_id,
        lead(from_time) over same_partition as next_from_time
    from intervals
    window same_partition as (
        partition by cluster, group_id, life, partition_key order by from_position, member_id
    )
)

select
    followed.cluster,
    followed.group_id,
    followed.life,
    followed.topic,
    followed.topic_id,
    followed.subtopology_id,
    followed.partition,
    followed.member_id,
    followed.from_position,
    followed.to_position,
    followed.from_time,
    followed.to_time,
    followed.pending_revocation_since,
    followed.assignment_epoch,
    followed.first_member_epoch,
    followed.last_member_epoch,
    followed.next_member_id,
    cast(unix_millis(followed.next_from_time) - unix_millis(followed.to_time) as bigint) as unowned_ms,
    {{ is_current('followed.to_position', 'holes') }} as is_current
from followed
left join {{ holes_of_groups() }} as holes
    on
        followed.cluster = holes.cluster
        and followed.group_id = holes.group_id
        and followed.life = holes.life
        and followed.to_position = holes.from_position
