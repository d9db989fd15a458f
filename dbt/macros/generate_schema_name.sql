{#- A model's schema is the one it names: without this, dbt would write marts_marts and marts_staging. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ (custom_schema_name or target.schema) | trim }}
{%- endmacro %}
