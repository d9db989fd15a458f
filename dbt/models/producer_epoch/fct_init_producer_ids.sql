-- Each InitProducerId: what KIP-360 proposed, what the shipped rule says, and what the broker answered.
{% set words = {
    'kip_360': ['new_epoch', 'same_epoch', 'fenced'],
    'shipped': ['new_epoch', 'same_epoch', 'fenced', 'fails', 'waits'],
} %}
with

decided as (
    select
        cluster,
        subject as request_id
        {%- for rule, outcomes in words.items() %},
        case
            {%- for outcome in outcomes %}
            when bool_or(outcome = 'true' and decision = '{{ rule }}_{{ outcome }}') then '{{ outcome }}'
            {%- endfor %}
        end as {{ rule }}
        {%- endfor %},
        {%- for rule in words %}
        min(reason) filter (where decision like '{{ rule }}%') as {{ rule }}_reason{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ in_changed_chapters(source('verdicts', 'decisions')) }}
    where decision in (
        {%- for rule, outcomes in words.items() %}
        {%- set of_rule = loop %}
        {%- for outcome in outcomes %}
        '{{ rule }}_{{ outcome }}'{{ ',' if not (loop.last and of_rule.last) }}
        {%- endfor %}
        {%- endfor %}
    )
    group by cluster, subject
),

met as (
    select
        *,
        returned_id = producer_id and returned_epoch = producer_epoch as is_same
    from {{ in_changed_chapters(source('silver', 'init_producer_id_states')) }}
),

states as (
    select
        cluster,
        request_id,
        count(*) as states,
        {{ agreed('is_same') }} as is_same,
        {{ agreed('status') }} as status,
        {{ agreed('producer_id') }} as current_producer_id,
        {{ agreed('producer_epoch') }} as current_epoch,
        min(from_position) as from_position,
        max(to_position) as to_position
    from met
    group by cluster, request_id
),

answered as (
    select
        requests.*,
        decided.kip_360,
        decided.shipped,
        decided.kip_360_reason,
        decided.shipped_reason,
        decided.request_id is not null as is_judged,
        states.states,
        states.status,
        states.current_producer_id,
        cast(states.current_epoch as bigint) as current_epoch,
        states.from_position as met_from_position,
        states.to_position as met_to_position,
        case
            when requests.error = 'NONE' and requests.provided_epoch < 0 then 'new_epoch'
            when requests.error = 'NONE' and states.is_same then 'same_epoch'
            when requests.error = 'NONE' and not states.is_same then 'new_epoch'
            when requests.error in ('PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH') then 'fenced'
            when requests.error = 'CONCURRENT_TRANSACTIONS' then 'waits'
            when requests.error = 'UNKNOWN_SERVER_ERROR' then 'fails'
            when requests.error <> 'NONE' then 'other_error'
        end as broker
    from {{ in_changed_chapters(source('silver', 'init_producer_ids')) }} as requests
    left join decided on requests.cluster = decided.cluster and requests.request_id = decided.request_id
    left join states on requests.cluster = states.cluster and requests.request_id = states.request_id
)

select
    cluster,
    transactional_id,
    request_id,
    broker_id,
    client_id,
    connection,
    correlation_id,
    api_version,
    provided_id,
    provided_epoch,
    error,
    returned_id,
    returned_epoch,
    status,
    current_producer_id,
    current_epoch,
    kip_360,
    shipped,
    broker,
    -- To have a client wait is right at any time: the log does not show when a change of the id began. But
    -- where the shipped rule says so, it aborts the open transaction for a client that KIP-360 refuses. To
    -- fail may have many reasons.
    case
        when broker in ('new_epoch', 'same_epoch', 'fenced') then kip_360 <> broker
        when broker = 'waits' and shipped = 'waits' then kip_360 = 'fenced'
        when broker = 'fails' and shipped = 'fails' then kip_360 = 'same_epoch'
    end as is_unlike_kip_360,
    case
        when broker in ('new_epoch', 'same_epoch', 'fenced') then shipped <> broker
        when broker = 'fails' and shipped = 'fails' then false
    end as is_unlike_shipped,
    case shipped
        when 'waits' then kip_360 = 'fenced'
        when 'fails' then kip_360 = 'same_epoch'
        else kip_360 <> shipped
    end as is_shipped_unlike_kip_360,
    case
        when error is null then 'no_answer'
        when kip_360 is null then coalesce(kip_360_reason, unknown_reason, 'not_captured')
        when shipped is null then coalesce(shipped_reason, unknown_reason, 'not_captured')
        -- which of two grants the answer is, the state tells that was met
        when broker is null then coalesce(unknown_reason, 'several_states')
    end as unknown_reason,
    case
        when error is null then 'the request log does not tell what the broker answered'
        when kip_360 is not null and shipped is not null and broker is not null then cast(null as string)
        when unknown_detail is not null then unknown_detail
        else {{ undecided_detail('is_judged', 'states') }}
    end as unknown_detail,
    requested_at,
    responded_at,
    record_offset,
    met_from_position,
    met_to_position,
    file,
    position,
    chapter
from answered
