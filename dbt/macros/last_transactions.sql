{#- For each row of a relation with the transactional id `transactional_id`: the columns `cluster`, `transactional_id` and
    `id` of the row, and `transaction`, the last transaction of that id that had begun at `at` (an id has one at a time),
    as a struct with the key of silver.transactions. -#}
{% macro last_transactions(relation, id, at) %}
    select
        cluster,
        transactional_id,
        {{ id }},
        max(transaction) over (
            partition by cluster, transactional_id
            order by at, {{ id }} nulls first
            rows between unbounded preceding and current row
        ) as transaction
    from (
        select
            cluster,
            transactional_id,
            started_at as at,
            cast(null as string) as {{ id }},
            struct(started_at, partition_key, started_position) as transaction
        from {{ source('silver', 'transactions') }}
        where started_at is not null
        union all
        select
            cluster,
            transactional_id,
            {{ at }} as at,
            {{ id }},
            null as transaction
        from {{ relation }}
    ) as moments
{% endmacro %}
