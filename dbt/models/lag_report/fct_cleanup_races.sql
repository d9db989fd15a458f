-- Directories that the state cleaner deleted although they were needed: the task came back to the instance
-- and was restored from the beginning, or a lag report of the instance waited for its assignment.
with

deletions as (
    select
        *,
        lead(from_position, 1, 9223372036854775807) over (
            partition by cluster, log, task_id order by from_position
        ) as next_position
    from {{ source('silver', 'directory_deletions') }}
),

restores as (
    select
        deletions.cluster,
        deletions.deletion_id,
        restores.restored_records,
        restores.started_at,
        restores.ended_at,
        row_number() over (
            partition by deletions.cluster, deletions.deletion_id, restores.changelog_topic
            order by restores.from_position
        ) as place
    from deletions
    inner join {{ source('silver', 'task_restores') }} as restores
        on
            deletions.cluster = restores.cluster
            and deletions.log = restores.log
            and deletions.task_id = restores.task_id
            and deletions.from_position < restores.from_position
            and deletions.next_position > restores.from_position
    where restores.from_the_beginning
),

costs as (
    select
        cluster,
        deletion_id,
        count(*) as stores_restored,
        sum(restored_records) as restored_records,
        min(started_at) as restore_began_at,
        max(ended_at) as restore_ended_at
    from restores
    where place = 1
    group by cluster, deletion_id
)

select
    deletions.cluster,
    deletions.application_id,
    deletions.deletion_id,
    deletions.instance,
    deletions.task_id,
    deletions.deleted_at,
    deletions.elapsed_ms,
    deletions.cleanup_delay_ms,
    deletions.since_release_ms,
    deletions.released_by,
    deletions.released_at,
    deletions.lag_reported,
    deletions.reported_by,
    deletions.reported_at,
    coalesce(costs.stores_restored, 0) as stores_restored,
    costs.restored_records,
    costs.restore_began_at,
    costs.restore_ended_at,
    cast(unix_millis(costs.restore_ended_at) - unix_millis(costs.restore_began_at) as bigint) as restore_ms,
    deletions.file,
    deletions.position
from deletions
left join costs on deletions.cluster = costs.cluster and deletions.deletion_id = costs.deletion_id
where
    deletions.deleted_by = 'cleaner'
    and coalesce(deletions.has_state, true)
    and (deletions.lag_reported or costs.stores_restored > 0)
