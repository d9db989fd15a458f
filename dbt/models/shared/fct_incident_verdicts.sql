-- What each violation is about, and of which incident it is. Its row alone decides that, not the order in
-- which evidence came.
with

texts as (
    select
        verdict_id,
        cluster,
        module,
        invariant,
        kind,
        severity,
        from_position,
        to_position,
        from_time,
        to_time,
        get_json_object(scope, '$.application_id') as application_id,
        coalesce(get_json_object(scope, '$.group_id'), get_json_object(evidence, '$.group_id')) as group_id,
        nullif(get_json_object(scope, '$.topic'), '__transaction_state') as scope_topic,
        get_json_object(scope, '$.partition') as scope_partition,
        -- the metadata log is no partition that anybody writes to
        nullif(get_json_object(scope, '$.log'), 'AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0') as log,
        get_json_object(evidence, '$.topic') as topic,
        get_json_object(evidence, '$.partition') as partition,
        get_json_object(evidence, '$.transaction_partition') as transaction_partition,
        get_json_object(evidence, '$.transactional_id') as transactional_id,
        coalesce(
            get_json_object(evidence, '$.producer_id'), get_json_object(evidence, '$.provided_id')
        ) as producer_id,
        get_json_object(evidence, '$.request_id') as request_id,
        get_json_object(evidence, '$.client_id') as client_id,
        get_json_object(evidence, '$.client_host') as client_host,
        get_json_object(evidence, '$.connection') as connection,
        nullif(get_json_object(evidence, '$.member_id'), '') as member_id,
        cast(get_json_object(evidence, '$.broker_id') as int) as broker_id,
        get_json_object(evidence, '$.instance') as instance,
        coalesce(get_json_object(evidence, '$.broker_error'), 'NONE') as error
    from {{ source('verdicts', 'episodes') }}
    where verdict = 'violated'
),

-- a partition is named by the record that is cited, else by the log whose positions the definition is judged
-- over
placed as (
    select
        *,
        {%- for part in ['topic', 'partition'] %}
        case
            when topic is not null then {{ part }}
            when transaction_partition is not null
                then nullif(regexp_extract(transaction_partition, '^(.*):([0-9]+)$', {{ loop.index }}), '')
            when scope_topic is not null then scope_{{ part }}
            when application_id is null
                then nullif(regexp_extract(log, '^[^:]*:(.*)-([0-9]+)$', {{ loop.index }}), '')
        end as at_{{ part }},
        {%- endfor %}
        coalesce(client_host, {{ host_of('connection') }}) as host
    from texts
),

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
    kind = 'invariant' and to_time is null and (from_position is null or to_position is null) as is_open
from about
