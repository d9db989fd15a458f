{#- Text as a Spark literal; null for none. -#}
{% macro literal(value) -%}
    {% if value is none %}cast(null as string){% else %}'{{ spark_literal(value) }}'{% endif %}
{%- endmacro %}

{#- Texts as an array. -#}
{% macro literals(values) -%}
    cast(array({% for each in values %}{{ literal(each) }}{{ ', ' if not loop.last }}{% endfor %}) as array<string>)
{%- endmacro %}
