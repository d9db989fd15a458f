{#- What decisions of the specification give for each of their records, side by side: {column: decision}. -#}
{% macro decided(decisions) -%}
    select
        cluster,
        subject,
        {%- for column, decision in decisions.items() %}
        max(outcome) filter (where decision = '{{ decision }}') as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ source('verdicts', 'decisions') }}
    where decision in ('{{ decisions.values() | join("', '") }}')
    group by cluster, subject
{%- endmacro %}
