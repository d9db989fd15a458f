{#- Fails when the condition is false on a row, and when it cannot be told. -#}
{% test holds_on_every_row(model, condition) %}
    select *
    from {{ model }}
    where not coalesce({{ condition }}, false)
{% endtest %}
