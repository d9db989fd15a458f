-- Partitions that went from one member to another and back again.
with

owners as (
    select
        *,
        -- a static member is the same under every member id
        coalesce(instance_id, member_id) as owner
    from {{ source('silver', 'classic_assignments') }}
    where partition is not null
),

ordered as (
    select
        *,
        lag(owner) over same_partition as owner_before
    from owners
    window same_partition as (
        partition by cluster, group_id, life, partition_key order by from_position, member_id
    )
),

changes as (
    select *
    from ordered
    where owner_before is null or owner_before != owner
),

followed as (
    select
        *,
        lag(owner) over same_partition as owner_of_before,
        lag(member_id) over same_partition as member_of_before,
        lag(client_id) over same_partition as client_of_before,
        lag(generation) over same_partition as generation_of_before,
        lag(from_time) over same_partition as time_of_before,
        lag(owner, 2) over same_partition as owner_first
    from changes
    window same_partition as (
        partition by cluster, group_id, life, partition_key order by from_position, member_id
    )
)

select
    cluster,
    group_id,
    life,
    topic,
    topic_id,
    partition,
    member_id,
    client_id,
    instance_id,
    member_of_before as other_member_id,
    client_of_before as other_client_id,
    generation_of_before as left_generation,
    generation as returned_generation,
    time_of_before as left_at,
    from_time as returned_at,
    cast(unix_millis(from_time) - unix_millis(time_of_before) as bigint) as away_ms,
    record_offset
from followed
where owner_first = owner
