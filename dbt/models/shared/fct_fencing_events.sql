-- Every request that was refused because an epoch had moved on, every broker fenced and every controller
-- followed by another: of each protocol that has a model of its fencings.
{% for protocol in var('fencing_protocols') %}
select
    cluster,
    '{{ protocol }}' as protocol,
    occurred_at,
    victim,
    victim_kind,
    scope,
    cause,
    error,
    victim_epoch,
    current_epoch,
    in_flight,
    evidence
from {{ ref('int_' ~ protocol ~ '_fencings') }}
{{ 'union all' if not loop.last }}
{% endfor %}
