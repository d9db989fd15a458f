-- Standby tasks (replica, warm-up or handover): from where they began, and whether they were made active.
with

restores as (
    select
        *,
        lead(kind) over same_changelog as next_kind,
        lead(started_at) over same_changelog as next_at,
        lead(end_offset) over same_changelog as next_end_offset,
        lead(restored_records) over same_changelog as next_records
    from {{ source('silver', 'task_restores') }}
    window
        same_changelog as (
            partition by cluster, log, changelog_topic, changelog_partition order by from_position
        )
),

assigned as (
    -- a task may be assigned again before the thread takes it up: the newest tells
    select
        restores.cluster,
        restores.restore_id,
        max_by(tasks.standby_as, tasks.from_position) as standby_as
    from restores
    inner join {{ source('silver', 'assigned_tasks') }} as tasks
        on
            restores.cluster = tasks.cluster
            and restores.log = tasks.log
            and restores.thread = tasks.thread
            and restores.task_id = tasks.task_id
            and restores.from_position >= tasks.from_position
            and restores.from_position < tasks.to_position
    where tasks.kind = 'standby'
    group by restores.cluster, restores.restore_id
)

select
    restores.cluster,
    restores.application_id,
    restores.restore_id,
    restores.instance,
    restores.thread,
    restores.task_id,
    assigned.standby_as,
    restores.store,
    restores.changelog_topic,
    restores.changelog_partition,
    restores.from_the_beginning,
    restores.start_offset,
    restores.started_at,
    coalesce(restores.next_kind = 'active', false) as is_made_active,
    if(restores.next_kind = 'active', restores.next_at, null) as made_active_at,
    if(restores.next_kind = 'active', restores.next_end_offset, null) as end_offset,
    if(restores.next_kind = 'active', restores.next_records, null) as missing_records,
    restores.file,
    restores.position
from restores
left join assigned
    on restores.cluster = assigned.cluster and restores.restore_id = assigned.restore_id
where restores.kind = 'standby'
