{#- The different names of a group, sorted; an empty list if it has none. -#}
{% macro sorted_names(column) -%}
    cast(coalesce(sort_array(collect_set({{ column }})), cast(array() as array<string>)) as array<string>)
{%- endmacro %}
