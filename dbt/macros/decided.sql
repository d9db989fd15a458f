{#- One row for each record that the decisions are about, with a column for each outcome: null where it is unknown.
    `unknown_reason` is the reason of the first decision that is unknown. -#}
{% macro decided(decisions, subject) -%}
    select
        cluster,
        subject as {{ subject }},
        {%- for decision, column in decisions.items() %}
        max(outcome) filter (where decision = '{{ decision }}') as {{ column }},
        {%- endfor %}
        {{ reason_of(decisions) }} as unknown_reason
    from {{ in_changed_chapters(source('verdicts', 'decisions')) }}
    where decision in ({% for decision in decisions %}'{{ decision }}'{{ ', ' if not loop.last }}{% endfor %})
    group by cluster, subject
{%- endmacro %}

{#- Among the rows of one record: the reason of the first of these decisions that is unknown. -#}
{% macro reason_of(decisions) -%}
    coalesce(
        {%- for decision in decisions %}
        max(reason) filter (where decision = '{{ decision }}'),
        {%- endfor %}
        cast(null as string)
    )
{%- endmacro %}
