-- The known issues whose traces invariants find, as fencepost.known_issues lists them.
{% for issue in var('known_issues') %}
select
    {{ literal(issue.id) }} as issue,
    {{ literal(issue.protocol) }} as protocol,
    {{ literal(issue.title) }} as title,
    {{ literals(issue.violates) }} as invariants,
    {{ literal(issue.fault_of) }} as fault_of,
    {{ literals(issue.tickets) }} as tickets,
    {{ literals(issue.seen_in) }} as seen_in,
    {{ literal(issue.fixed_in) }} as fixed_in
{{ 'union all' if not loop.last }}
{% else %}
select
    cast(null as string) as issue,
    cast(null as string) as protocol,
    cast(null as string) as title,
    cast(array() as array<string>) as invariants,
    cast(null as string) as fault_of,
    cast(array() as array<string>) as tickets,
    cast(array() as array<string>) as seen_in,
    cast(null as string) as fixed_in
where false
{% endfor %}
