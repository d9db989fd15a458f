-- Stores that a thread restored from the beginning of their changelogs, and why.
with

on_report as (
    select distinct
        restores.cluster,
        restores.restore_id
    from {{ source('silver', 'task_restores') }} as restores
    inner join {{ source('silver', 'assigned_tasks') }} as assigned
        on
            restores.cluster = assigned.cluster
            and restores.log = assigned.log
            and restores.task_id = assigned.task_id
            and restores.from_position between assigned.from_position and assigned.to_position
    where restores.from_the_beginning and assigned.on_reported_lag and not assigned.directory_exists
)

select
    restores.cluster,
    restores.application_id,
    restores.restore_id,
    restores.instance,
    restores.thread,
    restores.task_id,
    restores.kind,
    restores.store,
    restores.changelog_topic,
    restores.changelog_partition,
    restores.restore_cause,
    if(restores.restore_cause is null, 'not_captured', null) as unknown_reason,
    on_report.restore_id is not null as is_on_stale_report,
    restores.started_at,
    restores.ended_at,
    cast(unix_millis(restores.ended_at) - unix_millis(restores.started_at) as bigint) as restore_ms,
    restores.restored_records,
    restores.file,
    restores.position
from {{ source('silver', 'task_restores') }} as restores
left join on_report
    on restores.cluster = on_report.cluster and restores.restore_id = on_report.restore_id
where restores.from_the_beginning
