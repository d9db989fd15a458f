{#- The known issues that the evidence of a verdict shows not to be behind it, by their names: an array. -#}
{% macro ruled_out(evidence) -%}
    array_except(
        array(
            {%- for issue in var('known_issues') %}
            {%- for flag, value in issue.ruled_out_by.items() %}
            case when get_json_object({{ evidence }}, '$.{{ flag }}') = '{{ value | string | lower }}' then {{ literal(issue.id) }} end,
            {%- endfor %}
            {%- endfor %}
            cast(null as string)
        ),
        array(cast(null as string))
    )
{%- endmacro %}
