-- What each violation is about, and of which incident it is. Its row alone decides that, not the order in
-- which evidence came.
with

violated as (
    select *
    from {{ source('verdicts', 'episodes') }}
    where verdict = 'violated'
),

{{ named_in_verdicts('violated') }},

-- Requests of one client about partitions are its own incident if they were not refused. What else a group
-- goes through is one: a member is refused and leaves, the group rebalances, and the next one is refused.
about as (
    select
        *,
        case
            when
                group_id is not null
                and client_id is not null
                and request_id is not null
                and at_topic is not null
                and error = 'NONE'
                then 'client of a group'
            when group_id is not null then 'group'
            when transactional_id is not null then 'transactional id'
            when producer_id is not null then 'producer'
            when instance is not null then 'instance'
            when application_id is not null then 'application'
            when client_id is not null then 'client'
            when at_topic is not null then 'partition'
            when broker_id is not null then 'broker'
            else 'cluster'
        end as subject_kind
    from placed
)

select
    cluster,
    verdict_id,
    left(
        case subject_kind
            when 'client of a group'
                then {{ digest_of(['cluster', 'subject_kind', 'group_id', 'client_id']) }}
            when 'group' then {{ digest_of(['cluster', 'subject_kind', 'group_id']) }}
            when 'transactional id' then {{ digest_of(['cluster', 'subject_kind', 'transactional_id']) }}
            when 'producer' then {{ digest_of(['cluster', 'subject_kind', 'producer_id']) }}
            when 'instance' then {{ digest_of(['cluster', 'subject_kind', 'application_id', 'instance']) }}
            when 'application' then {{ digest_of(['cluster', 'subject_kind', 'application_id']) }}
            when 'client' then {{ digest_of(['cluster', 'subject_kind', 'client_id', 'host', 'at_topic']) }}
            when 'partition' then {{ digest_of(['cluster', 'subject_kind', 'at_topic', 'at_partition']) }}
            when 'broker' then {{ digest_of(['cluster', 'subject_kind', 'cast(broker_id as string)']) }}
            else {{ digest_of(['cluster', 'subject_kind', 'invariant']) }}
        end,
        16
    ) as fingerprint,
    subject_kind,
    case subject_kind
        when 'client of a group' then concat('client ', client_id, ' of group ', group_id)
        when 'group' then concat('group ', group_id)
        when 'transactional id' then concat('transactional id ', transactional_id)
        when 'producer' then concat('producer ', producer_id)
        when 'instance'
            then concat('instance ', instance, coalesce(concat(' of application ', application_id), ''))
        when 'application' then concat('application ', application_id)
        when 'client' then concat('client ', client_id, coalesce(concat(' at ', host), ''))
        when 'partition' then concat('partition ', at_topic, '-', at_partition)
        when 'broker' then concat('broker ', cast(broker_id as string))
        else 'the cluster'
    end as subject_name,
    {{ protocol_of('module') }} as protocol,
    module,
    invariant,
    severity,
    group_id,
    at_topic as topic,
    cast(at_partition as int) as partition,
    transactional_id,
    client_id,
    host,
    member_id,
    broker_id,
    instance,
    from_time,
    to_time,
    -- a step is taken at a moment, however long the state after it lasts
    kind = 'invariant' and to_time is null and (from_position is null or to_position is null) as is_open,
    {{ ruled_out('invariant', 'evidence') }} as ruled_out
from about
