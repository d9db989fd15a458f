{#- What decisions give for each record of the set they are about, side by side; null where that is unknown. -#}
{% macro decided(decisions, subject) -%}
    select
        cluster,
        subject as {{ subject }},
        {%- for decision, column in decisions.items() %}
        max(outcome) filter (where decision = '{{ decision }}') as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ in_changed_chapters(source('verdicts', 'decisions')) }}
    where decision in ({% for decision in decisions %}'{{ decision }}'{{ ', ' if not loop.last }}{% endfor %})
    group by cluster, subject
{%- endmacro %}
