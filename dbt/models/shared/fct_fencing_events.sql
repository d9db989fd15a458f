-- Every request that was refused because an epoch had moved on, every broker fenced and every controller
-- followed by another: of each protocol that has a model of its fencings.
with

events as (
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
        evidence
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
    coalesce(
        get_json_object(evidence, '$.victim_client_id'), get_json_object(evidence, '$.client_id')
    ) as client_id,
    get_json_object(evidence, '$.request_id') as request_id,
    get_json_object(evidence, '$.unknown_reason') as unknown_reason
from events
