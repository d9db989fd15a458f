-- The tasks of members of streams groups, as their coordinator stored them.
select
    cluster,
    application_id,
    group_task_id,
    member_id,
    group_instance_id,
    instance,
    process_id,
    client_id,
    client_host,
    member_epoch,
    task_id,
    kind,
    is_pending_revocation,
    recorded_at,
    record_offset,
    file,
    position,
    chapter
from {{ in_changed_chapters(source('silver', 'streams_group_tasks')) }}
