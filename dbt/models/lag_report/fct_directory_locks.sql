-- From when to when a thread had the lock of a task's directory.
with

states as (
    select
        *,
        coalesce(
            holder = lag(holder) over same_directory and held_for = lag(held_for) over same_directory, false
        ) as goes_on
    from {{ source('silver', 'task_directories') }}
    window same_directory as (partition by cluster, log, task_id order by from_position)
),

runs as (
    select
        *,
        count_if(not goes_on) over (
            partition by cluster, log, task_id order by from_position
            rows between unbounded preceding and current row
        ) as run
    from states
)

select
    cluster,
    application_id,
    log,
    instance,
    task_id,
    run,
    max(holder) as thread,
    max(held_for) as held_for,
    min(from_time) as locked_at,
    if(count(to_position) = count(*), max(to_time), null) as unlocked_at,
    if(
        count(to_position) = count(*),
        cast(unix_millis(max(to_time)) - unix_millis(min(from_time)) as bigint),
        null
    ) as locked_ms,
    min_by(file, from_position) as file,
    min_by(position, from_position) as position
from runs
where locked
group by cluster, application_id, log, instance, task_id, run
