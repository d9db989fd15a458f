{#- Fails with the columns that are null somewhere, and on how many rows: one scan for all of them. -#}
{% test never_null(model, columns) %}
    with

    counted as (
        select
            {%- for column in columns %}
            count_if({{ column }} is null) as {{ column }}{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ model }}
    ),

    listed as (
        select
            stack(
                {{ columns | length }}
                {%- for column in columns %},
                '{{ column }}', {{ column }}
                {%- endfor %}
            ) as (column_name, nulls)
        from counted
    )

    select column_name, nulls
    from listed
    where nulls > 0
{% endtest %}
