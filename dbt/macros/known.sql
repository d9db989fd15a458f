{#- A word of a mart as a value: null where it says that it is unknown, so that conditions keep three values. -#}
{% macro known(column) -%}
    nullif({{ column }}, 'unknown')
{%- endmacro %}
