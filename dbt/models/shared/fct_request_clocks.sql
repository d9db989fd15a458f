-- What is wrong with the times of brokers' request logs.
{% for table in var('clock_tables') %}
select
    cluster,
    broker_id,
    '{{ table }}' as compared_in,
    coordinator_partition,
    finding,
    ahead_ms,
    requests,
    first_at,
    last_at
from {{ source('silver', table) }}
{{ 'union all' if not loop.last }}
{% endfor %}
