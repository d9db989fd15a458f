-- The lives of each transactional id at its coordinator: what ended each, and which clients take it from each
-- other in turn.
{%- set history = "(partition by cluster, partition_key, transactional_id "
    ~ "order by from_position)" %}
with

followed as (
    select
        *,
        -- nothing follows where it ended, or what follows is another life
        to_position is not null
        and lead(from_position) over {{ history }} is distinct from to_position as is_last,
        -- whether somebody may have been given an epoch
        (
            producer_id is distinct from lag(producer_id) over {{ history }}
            or producer_epoch is distinct from lag(producer_epoch) over {{ history }}
        )
        and coalesce(cause in ('new_instance', 'client_bump'), true) as is_given
    from {{ source('silver', 'transactional_ids') }}
),

logs as (
    select
        cluster,
        partition_key,
        max(last_position) as ends_at
    from {{ source('silver', 'log_coverage') }}
    where topic = '__transaction_state'
    group by cluster, partition_key
),

-- where the log is known at its end, the record there is a tombstone, which the coordinator's sweep of idle
-- ids writes, but of none that has a transaction; in a hole, a record or a tombstone may be
ended as (
    select
        followed.cluster,
        followed.partition_key,
        followed.transactional_id,
        followed.from_position,
        case
            when count(holes.cluster) > 0 then 'unknown'
            when
                bool_or(pieces.covered and followed.status in ('Ongoing', 'PrepareCommit', 'PrepareAbort'))
                then 'removed'
            when bool_or(pieces.covered) then 'expired'
            when bool_or(followed.to_position >= logs.ends_at) then 'log_deleted'
            else 'unknown'
        end as ended_by
    from followed
    inner join logs
        on followed.cluster = logs.cluster and followed.partition_key = logs.partition_key
    left join {{ source('silver', 'log_coverage') }} as pieces
        on
            followed.cluster = pieces.cluster
            and followed.partition_key = pieces.partition_key
            and pieces.covered
            and followed.to_position >= pieces.from_position
            and followed.to_position < pieces.last_position
    left join {{ source('silver', 'log_coverage') }} as holes
        on
            followed.cluster = holes.cluster
            and followed.partition_key = holes.partition_key
            and not holes.covered
            and followed.to_position = holes.from_position
    where followed.is_last
    group by followed.cluster, followed.partition_key, followed.transactional_id, followed.from_position
),

numbered as (
    select
        followed.*,
        ended.ended_by,
        if(followed.cause in ('new_instance', 'client_bump'), followed.caused_by_client_id, null) as given_to,
        if(
            followed.cause in ('new_instance', 'client_bump'),
            {{ host_of('followed.caused_by_connection') }},
            null
        ) as given_host,
        coalesce(count(ended.ended_by) over (
            partition by followed.cluster, followed.partition_key, followed.transactional_id
            order by followed.from_position
            rows between unbounded preceding and 1 preceding
        ), 0) + 1 as life
    from followed
    left join ended
        on
            followed.cluster = ended.cluster
            and followed.partition_key = ended.partition_key
            and followed.transactional_id = ended.transactional_id
            and followed.from_position = ended.from_position
),

lives as (
    select
        cluster,
        transactional_id,
        partition_key,
        partition as coordinator_partition,
        life,
        min(from_position) as from_position,
        max_by(to_position, from_position) as to_position,
        min(from_time) as first_seen_at,
        max(from_time) as last_changed_at,
        max_by(to_time, from_position) as ended_at,
        max_by(ended_by, from_position) as ended_by,
        max_by(status, from_position) as status,
        max_by(producer_id, from_position) as producer_id,
        max_by(producer_epoch, from_position) as producer_epoch,
        count(distinct producer_id) as producer_ids,
        count_if(cause = 'new_instance') as instances,
        -- an id begins with the first epoch: what begins otherwise is what compaction or a hole has left
        min_by(producer_epoch = 0 and status = 'Empty', from_position)
        -- to take it from each other, two clients are given it three times
        and (count_if(is_given) < 3 or count_if(is_given and given_to is null) = 0) as is_known_of_all,
        {{ sorted_names('given_to') }} as clients,
        {{ sorted_names('given_host') }} as hosts
    from numbered
    group by cluster, transactional_id, partition_key, partition, life
),

-- a producer id belongs to one life
lives_of_producers as (
    select distinct
        cluster,
        transactional_id,
        partition_key,
        life,
        producer_id
    from numbered
    where producer_id is not null
),

-- one client took the id from another one that was still at work, and was refused
taken as (
    select
        cluster,
        transactional_id,
        producer_id,
        concat(caused_by_client_id, '@', {{ host_of('caused_by_connection') }}) as taker,
        concat(client_id, '@', {{ host_of('connection') }}) as loser,
        fenced_position,
        min(coalesce(fenced_at, occurred_at)) as taken_at
    from {{ source('silver', 'producer_fencings') }}
    where
        cause in ('new_instance', 'client_bump')
        and client_id not like 'AddPartitionsManager-client-%'
    group by
        cluster,
        transactional_id,
        producer_id,
        caused_by_client_id,
        caused_by_connection,
        client_id,
        connection,
        fenced_position
),

of_pairs as (
    select
        lives_of_producers.cluster,
        lives_of_producers.transactional_id,
        lives_of_producers.partition_key,
        lives_of_producers.life,
        taken.taker,
        taken.loser,
        count(distinct taken.fenced_position) as times,
        min(taken.taken_at) as first_at,
        max(taken.taken_at) as last_at
    from taken
    inner join lives_of_producers
        on
            taken.cluster = lives_of_producers.cluster
            and taken.transactional_id = lives_of_producers.transactional_id
            and taken.producer_id = lives_of_producers.producer_id
    where taken.taker <> taken.loser
    group by
        lives_of_producers.cluster,
        lives_of_producers.transactional_id,
        lives_of_producers.partition_key,
        lives_of_producers.life,
        taken.taker,
        taken.loser
),

contended as (
    select
        of_pairs.cluster,
        of_pairs.transactional_id,
        of_pairs.partition_key,
        of_pairs.life,
        {{ sorted_names('of_pairs.taker') }} as contenders,
        sum(of_pairs.times) as turns,
        min(of_pairs.first_at) as contended_since,
        max(of_pairs.last_at) as contended_until
    from of_pairs
    left semi join of_pairs as returned
        on
            of_pairs.cluster = returned.cluster
            and of_pairs.transactional_id = returned.transactional_id
            and of_pairs.partition_key = returned.partition_key
            and of_pairs.life = returned.life
            and of_pairs.taker = returned.loser
            and of_pairs.loser = returned.taker
    group by of_pairs.cluster, of_pairs.transactional_id, of_pairs.partition_key, of_pairs.life
)

select
    lives.cluster,
    lives.transactional_id,
    lives.coordinator_partition,
    lives.life,
    lives.from_position,
    lives.to_position,
    lives.first_seen_at,
    lives.last_changed_at,
    if(lives.ended_by = 'unknown', null, lives.ended_at) as ended_at,
    lives.ended_by,
    if(
        lives.ended_by = 'unknown'
        or (contended.turns is null and not coalesce(lives.is_known_of_all, false)),
        'not_captured',
        null
    ) as unknown_reason,
    lives.status,
    lives.producer_id,
    lives.producer_epoch,
    lives.producer_ids,
    lives.instances,
    lives.clients,
    lives.hosts,
    coalesce(contended.turns, if(lives.is_known_of_all, 0, null)) as turns,
    contended.contenders,
    contended.contended_since,
    contended.contended_until,
    lives.partition_key
from lives
left join contended
    on
        lives.cluster = contended.cluster
        and lives.transactional_id = contended.transactional_id
        and lives.partition_key = contended.partition_key
        and lives.life = contended.life
