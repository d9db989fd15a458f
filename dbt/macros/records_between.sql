{#- Records from a stored offset to a committed one, none when it is not behind; null when one of them is unknown. -#}
{% macro records_between(stored, committed) -%}
    case
        when {{ committed }} > {{ stored }} then {{ committed }} - {{ stored }}
        when {{ committed }} <= {{ stored }} then 0
    end
{%- endmacro %}
