-- What the states that a commit may have met agree on, and which of their columns nothing in the logs tells.
with

states as (
    select
        *,
        -- only the rule of classic groups asks for it
        case when rule = 'generation' then rebalancing else false end as asked_rebalancing
    from {{ source('silver', 'offset_commit_states') }}
)

{% set inputs = [
    'client_epoch', 'unfenced', 'group_known', 'member_known', 'classic_member', 'instance_fenced',
    'member_epoch', 'revocation_epoch', 'partition_revocation_epoch', 'assignment_epoch',
    'owned_at_client_epoch', 'uninterrupted', 'reassigned_since', 'rule', 'asked_rebalancing',
] %}
select
    cluster,
    chapter,
    commit_id,
    count(*) as states,
    {{ agreed('rule') }} as rule,
    {{ agreed('protocol') }} as protocol,
    {{ agreed('rebalancing') }} as rebalancing,
    {{ agreed('owner_member_id') }} as owner_member_id,
    {{ agreed('member_epoch') }} as member_epoch,
    concat_ws(
        ', '
        {%- for input in inputs %},
        case when count({{ input }}) < count(*) then '{{ input | replace('asked_', '') }}' end
        {%- endfor %}
    ) as untold
from states
group by cluster, chapter, commit_id
