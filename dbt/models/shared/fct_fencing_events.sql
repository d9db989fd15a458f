-- Every request that was refused because an epoch had moved on, every broker fenced and every controller
-- followed by another: of each protocol that has a model of its fencings.
with

fencings as (
    {% for protocol in var('fencing_protocols') %}
    select
        cluster,
        '{{ protocol }}' as protocol,
        occurred_at,
        victim,
        victim_kind,
        scope,
        cause,
        error,
        victim_epoch,
        current_epoch,
        in_flight,
        evidence,
        coalesce(get_json_object(evidence, '$.client_id') like 'AddPartitionsManager-client-%', false)
            as asked_by_broker
    from {{ ref('int_' ~ protocol ~ '_fencings') }}
    {{ 'union all' if not loop.last }}
    {% endfor %}
)

select
    cluster,
    protocol,
    occurred_at,
    victim,
    victim_kind,
    scope,
    cause,
    error,
    victim_epoch,
    current_epoch,
    in_flight,
    evidence,
    get_json_object(scope, '$.group_id') as group_id,
    get_json_object(scope, '$.transactional_id') as transactional_id,
    cast(get_json_object(scope, '$.producer_id') as bigint) as producer_id,
    get_json_object(scope, '$.topic') as topic,
    cast(get_json_object(scope, '$.partition') as int) as partition,
    cast(get_json_object(scope, '$.broker_id') as int) as broker_id,
    -- a broker that asks for a producer is not the one that was refused
    case
        when asked_by_broker then get_json_object(evidence, '$.victim_client_id')
        else get_json_object(evidence, '$.client_id')
    end as client_id,
    if(asked_by_broker, null, {{ host_of("get_json_object(evidence, '$.connection')") }}) as host,
    get_json_object(evidence, '$.caused_by_client_id') as caused_by_client_id,
    {{ host_of("get_json_object(evidence, '$.caused_by_connection')") }} as caused_by_host,
    get_json_object(evidence, '$.caused_by_principal') as caused_by_principal,
    cast(
        coalesce(
            get_json_object(evidence, '$.fenced_at'), get_json_object(evidence, '$.caused_at')
        ) as timestamp
    ) as caused_at,
    get_json_object(evidence, '$.request_id') as request_id,
    coalesce(get_json_object(evidence, '$.unknown_reason'), if(cause is null, 'not_captured', null))
        as unknown_reason
from fencings
