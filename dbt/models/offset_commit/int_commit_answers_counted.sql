-- How often a group's commits of a day were answered alike, by the broker and by each policy.
{% set answers = ['truth', 'broker_answer'] %}
{% for policy in var('policies') %}{% do answers.append('decision_' ~ policy) %}{% endfor %}
select
    cluster,
    chapter,
    group_id,
    cast(requested_at as date) as day,
    {%- for answer in answers %}
    {{ answer }},
    {%- endfor %}
    count(*) as commits
from {{ in_changed_chapters(ref('fct_offset_commits')) }}
group by
    cluster,
    chapter,
    group_id,
    cast(requested_at as date),
    {%- for answer in answers %}
    {{ answer }}{{ ',' if not loop.last }}
    {%- endfor %}
