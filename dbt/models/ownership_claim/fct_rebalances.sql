-- Each generation of each classic group: why the group rebalanced, how long it took, who was waited for.
with

moves as (
    select
        cluster,
        group_id,
        life,
        record_offset,
        count_if(is_added and previous_owner is not null) as partitions_moved
    from {{ source('silver', 'classic_assignments') }}
    group by cluster, group_id, life, record_offset
)

select
    generations.cluster,
    generations.group_id,
    generations.life,
    generations.coordinator_partition,
    generations.generation,
    generations.previous_generation,
    cast(generations.abandoned as bigint) as abandoned,
    generations.generation = generations.previous_generation as is_same_generation,
    generations.protocol_type,
    generations.protocol,
    generations.is_cooperative,
    generations.reason,
    generations.reason_source,
    generations.prepared_at,
    generations.joined_at,
    generations.stabilized_at,
    generations.rebalance_ms,
    generations.waited_for,
    generations.waited_ms,
    generations.leader_member_id,
    generations.leader_client_id,
    cast(generations.members as bigint) as members,
    generations.static_members,
    generations.members_joined,
    generations.members_left,
    generations.members_without_partitions,
    cast(generations.partitions as bigint) as partitions,
    generations.assignment_changed as is_assignment_changed,
    case
        when generations.assignment_changed is not null then coalesce(moves.partitions_moved, 0)
    end as partitions_moved,
    generations.unread_members,
    generations.unread_reason,
    {{ is_current('generations.to_position', 'holes') }} as is_current,
    generations.record_offset,
    generations.file,
    generations.position
from {{ source('silver', 'group_generations') }} as generations
left join moves
    on
        generations.cluster = moves.cluster
        and generations.group_id = moves.group_id
        and generations.life = moves.life
        and generations.record_offset = moves.record_offset
left join {{ holes_of_groups() }} as holes
    on
        generations.cluster = holes.cluster
        and generations.group_id = holes.group_id
        and generations.life = holes.life
        and generations.to_position = holes.from_position
