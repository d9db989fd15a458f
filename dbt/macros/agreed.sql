{#- The value all rows of the group share; null when they differ or one of them is unknown. -#}
{% macro agreed(column) -%}
    case
        when count({{ column }}) = count(*) and min({{ column }}) = max({{ column }}) then min({{ column }})
    end
{%- endmacro %}
