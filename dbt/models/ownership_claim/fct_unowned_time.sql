-- How long partitions had no owner, from the generation that took them to the one that gave them on.
with

-- generations in which nobody's assignment hides who has a partition
hidden as (
    select
        cluster,
        group_id,
        life,
        from_position
    from {{ source('silver', 'group_generations') }}
    where unread_members > 0 or previous_generation is null
),

owned as (
    select
        *,
        lead(from_position) over same_partition as next_position,
        lead(from_time) over same_partition as next_time,
        lead(generation) over same_partition as next_generation,
        lead(member_id) over same_partition as next_owner,
        max(to_position) over (
            partition by cluster, group_id, life, partition_key order by from_position, member_id
            rows between unbounded preceding and current row
        ) as owned_to
    from {{ source('silver', 'classic_assignments') }}
    where partition is not null
    window same_partition as (
        partition by cluster, group_id, life, partition_key order by from_position, member_id
    )
),

lives as (
    select
        cluster,
        group_id,
        life,
        count(to_position) < count(*) as goes_on,
        max_by(members, from_position) as members
    from {{ source('silver', 'group_generations') }}
    group by cluster, group_id, life
),

gaps as (
    select
        owned.*,
        owned.next_position is null as is_open
    from owned
    inner join lives
        on owned.cluster = lives.cluster and owned.group_id = lives.group_id and owned.life = lives.life
    where
        owned.to_position is not null
        and (
            owned.next_position > owned.owned_to
            or (owned.next_position is null and lives.goes_on and lives.members > 0)
        )
)

select
    gaps.cluster,
    gaps.group_id,
    gaps.life,
    gaps.topic,
    gaps.topic_id,
    gaps.partition,
    gaps.member_id as last_owner,
    gaps.client_id as last_owner_client_id,
    gaps.next_owner,
    gaps.last_generation as last_owned_generation,
    gaps.next_generation as owned_again_generation,
    gaps.to_time as unowned_from,
    gaps.next_time as unowned_to,
    cast(unix_millis(gaps.next_time) - unix_millis(gaps.to_time) as bigint) as unowned_ms,
    gaps.is_open,
    count(hidden.from_position) = 0 as is_known,
    gaps.last_record_offset as last_owned_record_offset
from gaps
left join hidden
    on
        gaps.cluster = hidden.cluster
        and gaps.group_id = hidden.group_id
        and gaps.life = hidden.life
        and gaps.to_position <= hidden.from_position
        and (gaps.next_position is null or gaps.next_position >= hidden.from_position)
group by all
