-- Where a group rebalanced again and again to no effect (the same claims, the same assignment), or
-- began generations that never had an assignment.
with

generations as (
    select
        *,
        coalesce(
            not assignment_changed
            and generation > previous_generation
            and claims_digest = lag(claims_digest) over log,
            false
        ) as is_repeated
    from {{ source('silver', 'group_generations') }}
    where members > 0
    window log as (partition by cluster, group_id, life order by from_position)
),

runs as (
    select
        *,
        count_if(not is_repeated) over (
            partition by cluster, group_id, life order by from_position
            rows between unbounded preceding and current row
        ) as run
    from generations
)

select
    cluster,
    group_id,
    life,
    min(generation) as first_generation,
    max(generation) as last_generation,
    count(*) as rebalances,
    cast(sum(abandoned) as bigint) as abandoned,
    max_by(protocol, from_position) as protocol,
    cast(max_by(members, from_position) as bigint) as members,
    min(coalesce(prepared_at, stabilized_at)) as began_at,
    max(stabilized_at) as ended_at,
    cast(unix_millis(max(stabilized_at)) - unix_millis(min(coalesce(prepared_at, stabilized_at))) as bigint)
        as lasted_ms,
    max_by(reason, from_position) filter (where reason is not null) as last_reason,
    max_by(waited_for, from_position) filter (where waited_for is not null) as last_waited_for,
    count(to_position) < count(*) as is_current,
    min(record_offset) as first_record_offset,
    max(record_offset) as last_record_offset
from runs
group by cluster, group_id, life, run
having count(*) >= 3 or sum(abandoned) >= 2
