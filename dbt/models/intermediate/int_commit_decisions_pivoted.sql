-- The answer of each policy to a commit and of the rule that its broker implements, side by side.
{% set decisions = (var('policies') | list) + ['broker_rule'] %}
select
    cluster,
    subject as commit_id,
    {%- for decision in decisions %}
    {%- set outcome = "max(outcome) filter (where decision = '" ~ decision ~ "')" %}
    {{ answer(outcome) }} as {{ decision }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ source('verdicts', 'decisions') }}
where decision in (
    {%- for decision in decisions %}
    '{{ decision }}'{{ ',' if not loop.last }}
    {%- endfor %}
)
group by cluster, subject
