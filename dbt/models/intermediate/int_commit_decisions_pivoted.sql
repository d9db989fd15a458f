-- The answer of each policy to a commit, side by side.
{% set policies = ['strict', 'member_revocation', 'partition_revocation', 'assignment_epoch'] %}
select
    cluster,
    subject as commit_id,
    {%- for policy in policies %}
    {%- set outcome = "max(outcome) filter (where decision = '" ~ policy ~ "')" %}
    {{ answer(outcome) }} as {{ policy }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ source('verdicts', 'decisions') }}
where decision in ('{{ policies | join("', '") }}')
group by cluster, subject
