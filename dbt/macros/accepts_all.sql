{#- Whether a decision accepts all rows of the group: one refusal is enough to refuse, one unknown answer not to know. -#}
{% macro accepts_all(decision) -%}
    case
        when count_if({{ decision }} = 'reject') > 0 then false
        when count_if({{ decision }} = 'accept') = count(*) then true
    end
{%- endmacro %}
