{#- The known issues that the evidence of a verdict shows not to be behind it, by their names: an array. -#}
{% macro ruled_out(invariant, evidence) -%}
    sort_array(array_except(
        array(
            {%- for issue in var('known_issues') %}
            {%- for name, values in (issue.ruled_out_by or {}).items() %}
            {%- for key, value in values.items() %}
            case
                when {{ invariant }} = '{{ name }}'
                    and coalesce(get_json_object({{ evidence }}, '$.{{ key }}'), 'null') = '{{ value }}'
                    then {{ literal(issue.id) }}
            end,
            {%- endfor %}
            {%- endfor %}
            {%- endfor %}
            cast(null as string)
        ),
        array(cast(null as string))
    ))
{%- endmacro %}
