-- The answer of each policy to a commit, side by side.
select
    cluster,
    subject as commit_id,
    {%- for policy in ['strict', 'member_revocation', 'partition_revocation', 'assignment_epoch'] %}
    {{ answer("max(outcome) filter (where decision = '" ~ policy ~ "')") }} as {{ policy }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ source('verdicts', 'decisions') }}
where module = 'offset_commit'
group by cluster, subject
