{#- Fails with what is wrong with a model's rows, and on how many: one scan for all of it.

    conditions   {name: condition}, each true on every row (a null is not)

Beside them, whatever the model's YAML says of its rows in dbt's own words: columns that are `not_null` and `unique`,
and `unique_combination_of_columns`. Those tests are one query each, so a build runs this one in their place. Of each
column whose `meta` lists `values`: it has no other, null aside. Where a column is 'unknown' for the reason in the row's
`unknown_reason`, there is one.
-#}
{% test sound(model, conditions={}) %}
    {%- set declared = declared_tests(model) -%}
    {%- set faults = {} -%}
    {%- for column in declared['not_null'] -%}
        {%- do faults.update({column ~ ' is null': 'count_if(' ~ column ~ ' is null)'}) -%}
    {%- endfor -%}
    {%- for column, values in listed_values(model).items() -%}
        {%- set known = "'" ~ values | join("', '") ~ "'" -%}
        {%- do faults.update({
            column ~ ' has a value that is not listed': 'count_if(' ~ column ~ ' not in (' ~ known ~ '))'
        }) -%}
    {%- endfor -%}
    {%- for column in unknown_columns(model) -%}
        {%- do faults.update({
            column ~ ' is unknown without a reason': "count_if(" ~ column ~ " = 'unknown' and unknown_reason is null)"
        }) -%}
    {%- endfor -%}
    {%- for name, condition in conditions.items() -%}
        {%- do faults.update({name ~ ' is not so': 'count_if(not coalesce(' ~ condition ~ ', false))'}) -%}
    {%- endfor -%}
    {%- for columns in declared['unique'] -%}
        {%- do faults.update({
            columns | join(', ') ~ ' occurs twice':
            'count(*) - count(distinct struct(' ~ columns | join(', ') ~ '))'
        }) -%}
    {%- endfor %}

    with

    counted as (
        select
            {%- for count in faults.values() %}
            {{ count }} as rows_{{ loop.index }}{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ model }}
        {%- set changed = changed_chapters(model.identifier) %}
        {%- if changed %}
        where {{ changed }}
        {%- endif %}
    ),

    listed as (
        select
            stack(
                {{ faults | length }}
                {%- for fault in faults %},
                '{{ fault }}', rows_{{ loop.index }}
                {%- endfor %}
            ) as (fault, faulty_rows)
        from counted
    )

    select fault, faulty_rows
    from listed
    where faulty_rows > 0
{% endtest %}

{#- What a model's tests in dbt's words say of its rows: columns without nulls, and lists of columns that no two rows
    share. -#}
{% macro declared_tests(relation) %}
    {%- set found = {'not_null': [], 'unique': []} -%}
    {%- if execute -%}
        {%- set tests = graph.nodes.values() | selectattr('resource_type', 'equalto', 'test') -%}
        {%- for node in tests if node.attached_node and node.attached_node.split('.')[-1] == relation.identifier -%}
            {%- if node.test_metadata.name == 'not_null' -%}
                {%- do found['not_null'].append(node.column_name) -%}
            {%- elif node.test_metadata.name == 'unique' -%}
                {%- do found['unique'].append([node.column_name]) -%}
            {%- elif node.test_metadata.name == 'unique_combination_of_columns' -%}
                {%- do found['unique'].append(node.test_metadata.kwargs['combination_of_columns']) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}

{#- {column: values} of a model's columns whose meta lists values, or says that they are the reasons. -#}
{% macro listed_values(relation) %}
    {%- set found = {} -%}
    {%- if execute -%}
        {%- for node in graph.nodes.values() if node.name == relation.identifier -%}
            {%- for column in node.columns.values() if column.meta.get('values') -%}
                {%- set values = column.meta['values'] -%}
                {%- do found.update({column.name: var('unknown_reasons') if values == 'reasons' else values}) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}

{#- The columns of text of a model that may be 'unknown', for a reason that its `unknown_reason` says. -#}
{% macro unknown_columns(relation) %}
    {%- set found = [] -%}
    {%- if execute -%}
        {%- for node in graph.nodes.values() if node.name == relation.identifier -%}
            {%- for column in node.columns.values() if column.data_type == 'string' -%}
                {%- if column.meta.get('unknown') == 'unknown_reason' -%}
                    {%- do found.append(column.name) -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}
