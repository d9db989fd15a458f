-- What the states that a commit may have met agree on, and which of their columns nothing in the logs tells.
with

states as (
    select
        *,
        owned_at_client_epoch and reassigned_since as is_zombie,
        owned_at_client_epoch and uninterrupted as is_owner,
        -- only the rule of classic groups asks for it
        case when rule = 'generation' then rebalancing else false end as asked_rebalancing
    from {{ source('silver', 'offset_commit_states') }}
),

truths as (
    select
        *,
        case
            when client_epoch < 0 then 'unfenced'
            when is_zombie then 'zombie'
            when is_owner then 'owner'
            when not is_zombie and not is_owner then 'not_owner'
            else 'unknown'
        end as truth
    from states
)

{% set inputs = [
    'client_epoch', 'unfenced', 'member_known', 'member_epoch', 'revocation_epoch', 'partition_revocation_epoch',
    'assignment_epoch', 'owned_at_client_epoch', 'uninterrupted', 'reassigned_since', 'rule', 'asked_rebalancing',
] %}
select
    cluster,
    commit_id,
    count(*) as states,
    coalesce({{ agreed('truth') }}, 'unknown') as truth,
    {{ agreed('rule') }} as rule,
    {{ agreed('protocol') }} as protocol,
    {{ agreed('rebalancing') }} as rebalancing,
    {{ agreed('fenced') }} as fenced,
    {{ agreed('owner_member_id') }} as owner_member_id,
    {{ agreed('member_epoch') }} as member_epoch,
    concat_ws(
        ', '
        {%- for input in inputs %},
        case when count({{ input }}) < count(*) then '{{ input | replace('asked_', '') }}' end
        {%- endfor %}
    ) as untold
from truths
group by cluster, commit_id
