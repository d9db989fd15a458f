{#- Marts whose rows lie in chapters: those from the first changed chapter on are replaced, in one commit. dbt-spark's
    own strategies replace rows by key, or whole partitions that have rows; this one is dbt-databricks' `replace_where`. -#}
{% materialization incremental, adapter='spark' %}
    {%- set changed = changed_chapters(this.name) -%}
    {%- if not changed -%}
        {{ return(materialization_table_spark()) }}
    {%- endif -%}
    {{ run_hooks(pre_hooks) }}
    {%- call statement('main') %}
        insert into {{ this }} replace where {{ changed }}
        {{ get_select_subquery(sql) }}
    {%- endcall %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}
