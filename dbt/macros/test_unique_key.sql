{#- Fails with the keys that occur more than once: the grain of a table whose key has several columns. -#}
{% test unique_key(model, columns) %}
    select {{ columns | join(', ') }}, count(*) as copies
    from {{ model }}
    group by {{ columns | join(', ') }}
    having count(*) > 1
{% endtest %}
