{#- One row for each request, or part of one (`key`), with the values that all states have which it may have met. -#}
{% macro states_met(table, key) -%}
    select
        cluster,
        {{ key }},
        count(*) as states,
        {{ agreed('status') }} as status,
        {{ agreed('producer_id') }} as current_producer_id,
        {{ agreed('producer_epoch') }} as current_epoch,
        min(from_position) as from_position,
        max(to_position) as to_position
    from {{ in_changed_chapters(source('silver', table)) }}
    group by cluster, {{ key }}
{%- endmacro %}
