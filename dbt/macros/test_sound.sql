{#- Fails with what is wrong with a model's rows, and on how many: one scan for all of it.

    never_null   columns without nulls
    grain        columns that no two rows share
    conditions   {name: condition}, each true on every row (one that cannot be told is not)

Beside them, of each column whose `meta` lists `values`: it has no other, null aside.
-#}
{% test sound(model, never_null=[], grain=[], conditions={}) %}
    {%- set faults = {} -%}
    {%- for column in never_null -%}
        {%- do faults.update({column ~ ' is null': 'count_if(' ~ column ~ ' is null)'}) -%}
    {%- endfor -%}
    {%- for column, values in listed_values(model).items() -%}
        {%- set known = "'" ~ values | join("', '") ~ "'" -%}
        {%- do faults.update({
            column ~ ' has a value that is not listed': 'count_if(' ~ column ~ ' not in (' ~ known ~ '))'
        }) -%}
    {%- endfor -%}
    {%- for name, condition in conditions.items() -%}
        {%- do faults.update({name ~ ' is not so': 'count_if(not coalesce(' ~ condition ~ ', false))'}) -%}
    {%- endfor -%}
    {%- if grain -%}
        {%- do faults.update({
            grain | join(', ') ~ ' occurs twice':
            'count(*) - count(distinct struct(' ~ grain | join(', ') ~ '))'
        }) -%}
    {%- endif %}

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

{#- {column: values} of a model's columns whose meta lists values. -#}
{% macro listed_values(relation) %}
    {%- set found = {} -%}
    {%- if execute -%}
        {%- for node in graph.nodes.values() if node.name == relation.identifier -%}
            {%- for column in node.columns.values() if column.meta.get('values') -%}
                {%- do found.update({column.name: column.meta['values']}) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}
