-- Tasks that were assigned to an instance that had reported them, and no longer had their directory.
with

assigned as (
    select *
    from {{ source('silver', 'assigned_tasks') }}
    where on_reported_lag and not directory_exists
),

restored as (
    select
        assigned.cluster,
        assigned.assigned_task_id,
        count(*) as stores_restored,
        sum(restores.restored_records) as restored_records,
        min(restores.started_at) as restore_began_at,
        max(restores.ended_at) as restore_ended_at
    from assigned
    inner join {{ source('silver', 'task_restores') }} as restores
        on
            assigned.cluster = restores.cluster
            and assigned.log = restores.log
            and assigned.task_id = restores.task_id
            and restores.from_position between assigned.from_position and assigned.to_position
    group by assigned.cluster, assigned.assigned_task_id
)

select
    assigned.cluster,
    assigned.application_id,
    assigned.assigned_task_id,
    assigned.instance,
    assigned.thread,
    assigned.task_id,
    assigned.kind,
    assigned.lag_report_id,
    assigned.offset_sum,
    assigned.deleted_by,
    assigned.assigned_at,
    assigned.initialized_at,
    coalesce(restored.stores_restored, 0) as stores_restored,
    restored.restored_records,
    restored.restore_began_at,
    restored.restore_ended_at,
    assigned.file,
    assigned.position
from assigned
left join restored
    on assigned.cluster = restored.cluster and assigned.assigned_task_id = restored.assigned_task_id
