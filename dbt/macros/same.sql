{#- The value that all rows of the group have that have one; null if two differ, or if none has one. -#}
{% macro same(column) -%}
    case when min({{ column }}) = max({{ column }}) then min({{ column }}) end
{%- endmacro %}
