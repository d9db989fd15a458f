{#- Whether a decision accepts all rows of the group. One refusal makes it false; else one unknown row makes it null. -#}
{% macro accepts_all(decision) -%}
    case
        when count_if({{ decision }} = 'reject') > 0 then false
        when count_if({{ decision }} = 'accept') = count(*) then true
    end
{%- endmacro %}
