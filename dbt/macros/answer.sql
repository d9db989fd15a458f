{#- A decision's outcome in words; no outcome is an unknown one. -#}
{% macro answer(outcome) -%}
    case {{ outcome }} when 'true' then 'accept' when 'false' then 'reject' else 'unknown' end
{%- endmacro %}
