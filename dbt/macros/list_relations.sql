{#- The tables of a schema. dbt-spark describes each of them, to learn that Iceberg has it: here all are Iceberg's. -#}
{% macro spark__list_relations_without_caching(relation) %}
    {%- call statement('list_relations', fetch_result=True) -%}
        show tables in {{ relation.schema }}
    {%- endcall -%}
    {%- set found = [] -%}
    {%- for row in load_result('list_relations').table -%}
        {%- do found.append((row[0], row[1], row[2], 'Provider: iceberg')) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
