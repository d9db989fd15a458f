-- What the specification decides about a commit, side by side: whether each policy and the rule of its broker
-- accept it, the error that is due, and what the committer was.
{% set accepting = (var('policies') | list) + ['broker_rule'] %}
{% set naming = ['proposed_error', 'shipped_error', 'truth'] %}
select
    cluster,
    chapter,
    subject as commit_id,
    {%- for decision in accepting %}
    {%- set outcome = "max(outcome) filter (where decision = '" ~ decision ~ "')" %}
    {{ answer(outcome) }} as {{ decision }},
    {%- endfor %}
    {%- for decision in naming %}
    {%- set outcome = "max(outcome) filter (where decision = '" ~ decision ~ "')" %}
    coalesce({{ outcome }}, 'unknown') as {{ decision }},
    {%- endfor %}
    {{ reason_of(['truth']) }} as truth_reason,
    {{ reason_of(['shipped_error', 'proposed_error'] + accepting | reverse | list) }} as unknown_reason
from {{ source('verdicts', 'decisions') }}
where decision in (
    {%- for decision in accepting + naming %}
    '{{ decision }}'{{ ',' if not loop.last }}
    {%- endfor %}
)
group by cluster, chapter, subject
