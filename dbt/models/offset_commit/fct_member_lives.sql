-- Each stay of a member in its group, and what ended it.
with

steps as (
    select
        *,
        max(coalesce(to_position, 9223372036854775807)) over (
            partition by cluster, group_id, life, member_id
            order by from_position
            rows between unbounded preceding and 1 preceding
        ) as known_to
    from {{ source('silver', 'group_members') }}
),

numbered as (
    select
        *,
        count_if(known_to is null or from_position > known_to) over (
            partition by cluster, group_id, life, member_id order by from_position
        ) as stay
    from steps
),

stays as (
    select
        cluster,
        group_id,
        life,
        member_id,
        min(from_position) as from_position,
        min(from_time) as from_time,
        if(count(to_position) = count(*), max(to_position), null) as to_position,
        if(count(to_position) = count(*), max(to_time), null) as to_time,
        max_by(client_id, from_position) as client_id,
        max_by(instance_id, from_position) as instance_id,
        max_by(protocol, from_position) as protocol,
        max_by(state, from_position) as state,
        -- of rows that go on; all others have none
        max(last_seen_at) as last_seen_at,
        max(session_timeout_ms) as session_timeout_ms,
        min(member_epoch) as first_epoch,
        max(member_epoch) as last_epoch
    from numbered
    group by cluster, group_id, life, member_id, stay
),

-- where a hole follows, it is known of no later time whether it was a member
known as (
    select
        stays.*,
        holes.from_position is not null as is_lost
    from stays
    left join {{ holes_of_groups() }} as holes
        on
            stays.cluster = holes.cluster
            and stays.group_id = holes.group_id
            and stays.life = holes.life
            and stays.to_position = holes.from_position
),

ended as (
    select *
    from known
    where to_position is not null and not is_lost
),

signs as (
    -- what the coordinator's broker wrote into its server.log
    select
        ended.cluster,
        ended.group_id,
        ended.life,
        ended.member_id,
        ended.from_position,
        ended.from_time,
        ended.to_time,
        lines.logged_at_ms as at_ms,
        'server_log' as told_by,
        case
            when lines.event = 'member_failed' or lines.reason like '%session expired%' then 'session_timeout'
            when lines.event in ('not_rejoined', 'not_synced') then 'rebalance_timeout'
            when lines.event = 'fenced' and lines.reason like 'it failed to transition from epoch%'
                then 'rebalance_timeout'
            when lines.event = 'left' then 'left'
            when lines.event in ('away', 'replaced') then lines.event
        end as removed_by,
        lines.reason,
        cast(null as string) as removed_by_client_id,
        cast(null as string) as removed_by_host,
        lines.file,
        lines.position
    from ended
    inner join {{ source('bronze', 'broker_lines') }} as lines
        on
            ended.cluster = lines.cluster
            and ended.group_id = lines.group_id
            and (
                ended.member_id = lines.member_id
                or (
                    lines.event in ('not_rejoined', 'not_synced')
                    and instr(lines.reason, ended.member_id) > 0
                )
            )
    where lines.event in ('member_failed', 'not_rejoined', 'not_synced', 'fenced', 'left', 'away', 'replaced')

    union all

    -- requests: of the member itself, or of another client that names it
    select
        ended.cluster,
        ended.group_id,
        ended.life,
        ended.member_id,
        ended.from_position,
        ended.from_time,
        ended.to_time,
        unix_millis(departures.responded_at) as at_ms,
        'request_log' as told_by,
        case
            when departures.kind = 'away' then 'away'
            when departures.client_id = ended.client_id or departures.kind = 'left' then 'left'
            -- a static member that replaced another has the client.id of that while its group is converted
            when
                departures.client_id <> ended.client_id
                and (ended.instance_id is null or departures.member_id is null)
                then 'administrator'
        end as removed_by,
        departures.reason,
        departures.client_id as removed_by_client_id,
        departures.client_host as removed_by_host,
        departures.file,
        departures.position
    from ended
    inner join {{ source('silver', 'member_departures') }} as departures
        on
            ended.cluster = departures.cluster
            and ended.group_id = departures.group_id
            and (
                ended.member_id = departures.member_id
                or (departures.member_id is null and ended.instance_id = departures.instance_id)
            )

    union all

    -- records: a member with the same instance id begins where this one ends
    select
        ended.cluster,
        ended.group_id,
        ended.life,
        ended.member_id,
        ended.from_position,
        ended.from_time,
        ended.to_time,
        unix_millis(ended.to_time) as at_ms,
        'group_log' as told_by,
        'replaced' as removed_by,
        cast(null as string) as reason,
        others.client_id as removed_by_client_id,
        cast(null as string) as removed_by_host,
        cast(null as string) as file,
        cast(null as bigint) as position
    from ended
    inner join stays as others
        on
            ended.cluster = others.cluster
            and ended.group_id = others.group_id
            and ended.life = others.life
            and ended.instance_id = others.instance_id
            and ended.member_id <> others.member_id
            and ended.to_position = others.from_position
),

-- the newest sign within the stay; a classic group writes its record when the rebalance is over
causes as (
    select
        *,
        -- the line in the server.log does not say who replaced it
        max(if(removed_by = 'replaced', removed_by_client_id, null)) over (
            partition by cluster, group_id, life, member_id, from_position
        ) as replaced_by_client_id,
        row_number() over (
            partition by cluster, group_id, life, member_id, from_position
            order by
                -- who is away may be replaced a moment later
                if(removed_by = 'away', 0, 1) asc,
                case told_by when 'request_log' then 1 when 'server_log' then 2 else 3 end asc,
                at_ms desc,
                position asc
        ) as place
    from signs
    where
        removed_by is not null
        and at_ms >= unix_millis(from_time) - 250
        and at_ms <= unix_millis(to_time) + 250
)

select
    stays.cluster,
    stays.group_id,
    stays.life,
    stays.member_id,
    stays.client_id,
    stays.instance_id,
    stays.protocol,
    stays.from_time as joined_at,
    if(stays.is_lost, null, stays.to_time) as ended_at,
    if(stays.is_lost, null, stays.to_position is null) as is_current,
    if(stays.to_position is null, stays.state, null) as state,
    if(stays.to_position is null, stays.last_seen_at, null) as last_seen_at,
    if(stays.to_position is null, stays.session_timeout_ms, null) as session_timeout_ms,
    if(
        stays.to_position is null,
        timestamp_millis(unix_millis(stays.last_seen_at) + stays.session_timeout_ms),
        null
    ) as held_at_least_until,
    stays.first_epoch,
    stays.last_epoch,
    causes.removed_by,
    causes.told_by,
    causes.reason,
    coalesce(
        causes.removed_by_client_id,
        if(causes.removed_by = 'replaced', causes.replaced_by_client_id, null)
    ) as removed_by_client_id,
    causes.removed_by_host,
    if(stays.to_position is not null and causes.removed_by is null, 'not_captured', null) as unknown_reason,
    stays.from_position,
    if(stays.is_lost, null, stays.to_position) as to_position,
    causes.file,
    causes.position
from known as stays
left join causes
    on
        stays.cluster = causes.cluster
        and stays.group_id = causes.group_id
        and stays.life = causes.life
        and stays.member_id = causes.member_id
        and stays.from_position = causes.from_position
        and causes.place = 1
