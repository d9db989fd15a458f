-- Standby tasks (warm-ups among them): from where they began, and whether they were made active.
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
)

select
    cluster,
    application_id,
    restore_id,
    instance,
    thread,
    task_id,
    store,
    changelog_topic,
    changelog_partition,
    from_the_beginning,
    start_offset,
    started_at,
    coalesce(next_kind = 'active', false) as is_made_active,
    if(next_kind = 'active', next_at, null) as made_active_at,
    if(next_kind = 'active', next_end_offset, null) as end_offset,
    if(next_kind = 'active', next_records, null) as missing_records,
    file,
    position
from restores
where kind = 'standby'
