{#- A moment as JSON has it, in UTC and to the millisecond: 2026-03-01T10:05:00.000Z. -#}
{% macro iso_moment(column) -%}
    date_format({{ column }}, 'yyyy-MM-dd\'T\'HH:mm:ss.SSSXXX')
{%- endmacro %}
