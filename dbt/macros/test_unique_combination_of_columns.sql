{#- Fails with each combination of values that several rows share: the test of dbt_utils, by its name. -#}
{% test unique_combination_of_columns(model, combination_of_columns) %}
    select
        {{ combination_of_columns | join(', ') }},
        count(*) as rows_with_it
    from {{ model }}
    group by {{ combination_of_columns | join(', ') }}
    having count(*) > 1
{% endtest %}
