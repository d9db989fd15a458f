-- What is wrong once, with what was reported of it before. An incident is over when the logs went on for a
-- day without it; the first run that finds it reports it all the same, however long ago it was.
{%- set names = ['group_id', 'transactional_id', 'client_id', 'host', 'member_id', 'broker_id', 'instance'] %}
with

waived as (
    select
        verdicts.verdict_id,
        max(waivers.expires) as waived_until,
        max_by(waivers.because, struct(waivers.expires, waivers.because)) as waived_because
    from {{ ref('fct_incident_verdicts') }} as verdicts
    inner join {{ source('verdicts', 'waivers') }} as waivers
        on (waivers.invariant is null or verdicts.invariant = waivers.invariant)
        and (waivers.cluster is null or verdicts.cluster = waivers.cluster)
        and (waivers.incident is null or startswith(verdicts.fingerprint, waivers.incident))
        and (waivers.group_id is null or verdicts.group_id = waivers.group_id)
        and (waivers.topic is null or verdicts.topic = waivers.topic)
        and (waivers.partition is null or verdicts.partition = waivers.partition)
        and (waivers.transactional_id is null or verdicts.transactional_id = waivers.transactional_id)
        and (waivers.client_id is null or verdicts.client_id = waivers.client_id)
    group by verdicts.verdict_id
),

ranked as (
    select
        verdicts.*,
        case verdicts.severity when 'critical' then 1 when 'warning' then 2 else 3 end as grade,
        waived.waived_until,
        waived.waived_because
    from {{ ref('fct_incident_verdicts') }} as verdicts
    left join waived
        on verdicts.verdict_id = waived.verdict_id
),

found as (
    select
        cluster,
        fingerprint,
        min(subject_kind) as subject_kind,
        min(subject_name) as subject_name,
        case min(grade) when 1 then 'critical' when 2 then 'warning' else 'info' end as severity,
        min_by(protocol, struct(grade, invariant)) as protocol,
        min_by(module, struct(grade, invariant)) as module,
        min_by(invariant, struct(grade, invariant)) as invariant,
        sort_array(collect_set(invariant)) as invariants,
        {{ sorted_names('case when grade = 1 then invariant end') }} as critical,
        {%- for column in names %}
        {{ same(column) }} as {{ column }},
        {%- endfor %}
        {{ same('topic') }} as topic,
        case when min(topic) = max(topic) then {{ same('partition') }} end as partition,
        count(*) as verdicts,
        -- two clocks may have dated a verdict's begin and its end
        min(least(from_time, coalesce(to_time, from_time))) as first_seen,
        max(greatest(from_time, coalesce(to_time, from_time))) as last_seen,
        bool_or(is_open) as is_open,
        -- of what closes the gate nothing may be left, and without that nothing at all
        count_if(waived_until is null and (grade = 1 or not any_critical)) = 0 as is_waived,
        min(waived_until) as waived_until,
        min_by(waived_because, struct(waived_until, waived_because)) filter (
            where waived_until is not null
        ) as waived_because
    from (
        select
            *,
            min(grade) over (partition by cluster, fingerprint) = 1 as any_critical
        from ranked
    ) as graded
    group by cluster, fingerprint
),

-- what may be behind the violation in the title: of the known issues those that explain most of the rest, too
issues as (
    select
        issue,
        fault_of,
        explode(invariants) as invariant
    from {{ ref('fct_known_issues') }}
),

possible as (
    select distinct
        verdicts.cluster,
        verdicts.fingerprint,
        verdicts.invariant,
        issues.issue
    from {{ ref('fct_incident_verdicts') }} as verdicts
    inner join issues
        on verdicts.invariant = issues.invariant
    where not array_contains(verdicts.ruled_out, issues.issue)
),

explained as (
    select
        found.cluster,
        found.fingerprint,
        possible.issue,
        min(others.fault_of) as fault_of,
        count(distinct others.invariant) as explained,
        max(count(distinct others.invariant)) over (partition by found.cluster, found.fingerprint) as most
    from found
    inner join possible
        on found.cluster = possible.cluster
        and found.fingerprint = possible.fingerprint
        and found.invariant = possible.invariant
    inner join issues as others
        on possible.issue = others.issue and array_contains(found.invariants, others.invariant)
    group by found.cluster, found.fingerprint, possible.issue
),

behind as (
    select
        cluster,
        fingerprint,
        {{ sorted_names('issue') }} as known_issues,
        -- nobody's, if it may be anybody's
        {{ agreed('fault_of') }} as fault_of
    from explained
    where explained = most
    group by cluster, fingerprint
),

noted as (
    select *
    from (
        select
            *,
            row_number() over (partition by cluster, fingerprint order by noted_at desc, run_id desc) as place
        from {{ source('verdicts', 'incident_notes') }}
    ) as notes
    where place = 1
),

known as (
    select
        coalesce(found.cluster, noted.cluster) as cluster,
        coalesce(found.fingerprint, noted.fingerprint) as fingerprint,
        coalesce(found.severity, noted.severity) as severity,
        case
            when found.fingerprint is null then noted.title
            else concat(
                {{ violation_text('found.module', 'found.invariant') }},
                ': ',
                found.subject_name,
                case
                    when found.subject_kind = 'partition' or found.topic is null then ''
                    else concat(', ', found.topic, coalesce(concat('-', cast(found.partition as string)), ''))
                end
            )
        end as title,
        coalesce(found.protocol, noted.protocol) as protocol,
        coalesce(found.invariants, noted.invariants) as invariants,
        coalesce(found.critical, noted.critical) as critical,
        {%- for column in names + ['topic', 'partition'] %}
        if(found.fingerprint is null, noted.{{ column }}, found.{{ column }}) as {{ column }},
        {%- endfor %}
        coalesce(found.verdicts, 0) as verdicts,
        -- what a window leaves out was seen all the same
        least(found.first_seen, noted.first_seen) as first_seen,
        case
            when found.is_open then greatest(windows.newest, found.first_seen)
            else coalesce(found.last_seen, noted.last_seen)
        end as last_seen,
        coalesce(found.is_open, false) as is_open,
        windows.newest as evidence_until,
        noted.state as noted_state,
        noted.evidence_until as noted_until,
        coalesce(found.is_waived, false) as is_waived,
        found.waived_until,
        found.waived_because,
        behind.known_issues,
        behind.fault_of,
        -- another severity, or another invariant that closes the gate, and does not only follow from one that
        -- was told: nobody has been told of that
        coalesce(
            found.severity = 'critical' and noted.severity <> 'critical'
            or found.severity = 'warning' and noted.severity = 'info'
            or size(
                array_except(
                    found.critical,
                    concat(
                        noted.critical
                        {%- for each in var('followed') %},
                        if(
                            array_contains(noted.critical, '{{ each.after }}'),
                            array('{{ each.invariant }}'),
                            array()
                        )
                        {%- endfor %}
                    )
                )
            ) > 0,
            false
        ) as is_worse,
        found.fingerprint is null or coalesce(
            not found.is_open
            and found.last_seen < windows.newest - interval {{ var('quiet_hours') | int }} hours,
            false
        ) as is_quiet
    from found
    full outer join noted
        on found.cluster = noted.cluster
        and found.fingerprint = noted.fingerprint
    left join behind
        on found.cluster = behind.cluster
        and found.fingerprint = behind.fingerprint
    left join {{ source('silver', 'windows') }} as windows
        on windows.cluster = coalesce(found.cluster, noted.cluster)
)

select
    cluster,
    fingerprint,
    case
        when verdicts = 0 then 'over'
        when is_waived then 'waived'
        when noted_state is null then 'new'
        when is_quiet and (noted_state = 'over' or coalesce(evidence_until > noted_until, false)) then 'over'
        when noted_state = 'open' and not is_worse then 'ongoing'
        else 'new'
    end as state,
    noted_state as state_before,
    severity,
    title,
    protocol,
    group_id,
    topic,
    partition,
    transactional_id,
    client_id,
    host,
    member_id,
    broker_id,
    instance,
    invariants,
    critical,
    verdicts,
    first_seen,
    last_seen,
    is_open,
    case when is_waived then waived_until end as waived_until,
    case when is_waived then waived_because end as waived_because,
    evidence_until,
    known_issues,
    fault_of
from known
