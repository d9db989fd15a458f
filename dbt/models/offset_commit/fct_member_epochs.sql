-- The epochs of each member over time, with the group's beside them.
select
    members.cluster,
    members.group_id,
    members.life,
    members.member_id,
    members.client_id,
    members.instance_id,
    members.protocol,
    members.state,
    members.member_epoch,
    members.previous_member_epoch,
    members.revocation_epoch,
    members.last_target_assignment_epoch as target_assignment_epoch,
    members.last_group_epoch as group_epoch,
    members.last_target_assignment_epoch - members.member_epoch as epochs_behind,
    {{ is_current('members.to_position', 'holes') }} as is_current,
    members.from_position,
    members.to_position,
    members.from_time,
    members.to_time,
    members.chapter
from {{ in_changed_chapters(source('silver', 'group_members')) }} as members
left join {{ holes_of_groups() }} as holes
    on
        members.cluster = holes.cluster
        and members.group_id = holes.group_id
        and members.life = holes.life
        and members.to_position = holes.from_position
