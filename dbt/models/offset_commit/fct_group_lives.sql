-- Each life of a group, from its first record to the tombstone that ended it, and what wrote that.
with

newest as (
    select
        *,
        row_number() over (partition by cluster, group_id, life order by from_position desc) as place
    from {{ source('silver', 'coverage') }}
),

lives as (
    select
        cluster,
        group_id,
        life,
        min(coordinator_partition) as coordinator_partition,
        min(from_time) as from_time,
        max(if(place = 1 and covered, to_position, null)) as to_position,
        max(if(place = 1 and covered, to_time, null)) as to_time,
        max(place = 1 and to_position is null) as is_current,
        max(place = 1 and not covered) as is_lost
    from newest
    group by cluster, group_id, life
),

epochs as (
    select
        cluster,
        group_id,
        life,
        max_by(group_type, from_position) as group_type,
        min(group_epoch) as first_epoch,
        max(group_epoch) as last_epoch
    from {{ source('silver', 'consumer_groups') }}
    group by cluster, group_id, life
),

requested as (
    select
        lives.cluster,
        lives.group_id,
        lives.life,
        requests.client_id,
        requests.client_host,
        requests.principal,
        requests.file,
        requests.position,
        row_number() over (
            partition by lives.cluster, lives.group_id, lives.life
            order by requests.requested_at, requests.request_id
        ) as place
    from lives
    inner join {{ source('silver', 'removal_requests') }} as requests
        on
            lives.cluster = requests.cluster
            and lives.group_id = requests.group_id
            and unix_millis(lives.to_time) >= unix_millis(requests.requested_at) - 100
            and unix_millis(lives.to_time) <= unix_millis(requests.responded_at) + 100
    where requests.api_name = 'DELETE_GROUPS'
),

told as (
    select
        lives.cluster,
        lives.group_id,
        lives.life,
        max(lines.event = 'groups_deleted') as is_deleted,
        min_by(lines.file, lines.logged_at_ms) as file,
        min_by(lines.position, lines.logged_at_ms) as position
    from lives
    inner join {{ source('bronze', 'broker_lines') }} as lines
        on
            lives.cluster = lines.cluster
            and lives.coordinator_partition
            = coalesce(lines.coordinator_partition, lives.coordinator_partition)
            and (
                lines.event = 'expired'
                or (lines.event = 'groups_deleted' and lives.group_id = lines.reason)
            )
            and unix_millis(lives.to_time) >= lines.logged_at_ms - coalesce(lines.took_ms, 0) - 250
            and unix_millis(lives.to_time) <= lines.logged_at_ms + 250
    group by lives.cluster, lives.group_id, lives.life
)

select
    lives.cluster,
    lives.group_id,
    lives.life,
    epochs.group_type,
    lives.from_time as began_at,
    lives.to_time as ended_at,
    if(lives.is_lost, null, lives.is_current) as is_current,
    epochs.first_epoch,
    epochs.last_epoch,
    case
        when requested.life is not null or told.is_deleted then 'group_deleted'
        when told.life is not null then 'expired'
    end as ended_by,
    case
        when requested.life is not null then 'request_log'
        when told.life is not null then 'server_log'
    end as told_by,
    if(
        lives.is_lost or (not lives.is_current and requested.life is null and told.life is null),
        'not_captured',
        null
    ) as unknown_reason,
    requested.client_id as removed_by_client_id,
    requested.client_host as removed_by_host,
    requested.principal as removed_by,
    lives.coordinator_partition,
    lives.to_position,
    coalesce(requested.file, told.file) as file,
    if(requested.file is null, told.position, requested.position) as position
from lives
left join epochs
    on lives.cluster = epochs.cluster and lives.group_id = epochs.group_id and lives.life = epochs.life
left join requested
    on
        lives.cluster = requested.cluster
        and lives.group_id = requested.group_id
        and lives.life = requested.life
        and requested.place = 1
left join told
    on lives.cluster = told.cluster and lives.group_id = told.group_id and lives.life = told.life
