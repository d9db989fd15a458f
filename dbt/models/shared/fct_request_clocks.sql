-- By how much the clock of a broker's request log is ahead of that of its records, where they differ.
{% for table in var('clock_tables') %}
select
    cluster,
    broker_id,
    '{{ table }}' as compared_in,
    coordinator_partition,
    ahead_ms,
    requests,
    first_at,
    last_at
from {{ source('silver', table) }}
{{ 'union all' if not loop.last }}
{% endfor %}
