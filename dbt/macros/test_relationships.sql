{#- dbt's own test, also of a key of several columns: `within` are those that both have by the same name. Fails with
    each key without a row in `to`; a key with a null refers to none. -#}
{% test relationships(model, column_name, to, field, within=[]) %}
    {%- set pairs = [(column_name, field)] -%}
    {%- for column in within -%}
        {%- do pairs.append((column, column)) -%}
    {%- endfor -%}
    {%- set own = pairs | map('first') | join(', ') %}
    select distinct {{ own }}
    from {{ model }} as child
    where
        {%- for column, _ in pairs %}
        {{ column }} is not null and
        {%- endfor %}
        not exists (
            select 1
            from {{ to }} as parent
            where
                {%- for column, other in pairs %}
                child.{{ column }} = parent.{{ other }}{{ ' and' if not loop.last }}
                {%- endfor %}
        )
{% endtest %}
