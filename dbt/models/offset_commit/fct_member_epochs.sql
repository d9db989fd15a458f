-- The epochs of each member over time, with the group's beside them.
select
    cluster,
    group_id,
    life,
    member_id,
    client_id,
    instance_id,
    protocol,
    state,
    member_epoch,
    previous_member_epoch,
    revocation_epoch,
    last_target_assignment_epoch as target_assignment_epoch,
    last_group_epoch as group_epoch,
    last_target_assignment_epoch - member_epoch as epochs_behind,
    to_position is null as is_current,
    from_position,
    to_position,
    from_time,
    to_time,
    chapter
from {{ in_changed_chapters(source('silver', 'group_members')) }}
