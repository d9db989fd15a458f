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
    runs.cluster,
    runs.group_id,
    runs.life,
    min(runs.generation) as first_generation,
    max(runs.generation) as last_generation,
    count(*) as rebalances,
    cast(sum(runs.abandoned) as bigint) as abandoned,
    max_by(runs.protocol, runs.from_position) as protocol,
    cast(max_by(runs.members, runs.from_position) as bigint) as members,
    -- a clock may have been set back in between
    min(least(coalesce(runs.prepared_at, runs.stabilized_at), runs.stabilized_at)) as began_at,
    max(runs.stabilized_at) as ended_at,
    cast(
        unix_millis(max(runs.stabilized_at))
        - unix_millis(
            min(least(coalesce(runs.prepared_at, runs.stabilized_at), runs.stabilized_at))
        ) as bigint
    ) as lasted_ms,
    max_by(runs.reason, runs.from_position) filter (where runs.reason is not null) as last_reason,
    max_by(runs.waited_for, runs.from_position)
        filter (where runs.waited_for is not null) as last_waited_for,
    if(count(holes.from_position) = 0, count(runs.to_position) < count(*), null) as is_current,
    min(runs.record_offset) as first_record_offset,
    max(runs.record_offset) as last_record_offset
from runs
left join {{ holes_of_groups() }} as holes
    on
        runs.cluster = holes.cluster
        and runs.group_id = holes.group_id
        and runs.life = holes.life
        and runs.to_position = holes.from_position
group by runs.cluster, runs.group_id, runs.life, runs.run
having count(*) >= 3 or sum(runs.abandoned) >= 2
