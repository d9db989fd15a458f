-- How long consumers were told UNSTABLE_OFFSET_COMMIT, and whose transaction held the offset.
with

asked as (
    select
        cluster,
        request_id,
        group_id,
        topic,
        partition,
        client_id,
        {{ host_of('connection') }} as host,
        broker_id,
        requested_at,
        responded_at
    from {{ source('silver', 'producer_requests') }}
    where api_key = 9 and group_id is not null
),

commits as (
    select
        requests.cluster,
        requests.request_id,
        requests.group_id,
        explode(requests.committed_partitions) as name,
        requests.transactional_id,
        requests.producer_id,
        requests.producer_epoch,
        requests.client_id,
        requests.connection,
        requests.requested_at,
        requests.responded_at
    from {{ source('silver', 'producer_requests') }} as requests
    left semi join asked
        on requests.cluster = asked.cluster and requests.group_id = asked.group_id
    where requests.api_key = 28
),

-- offsets that a transaction committed for the group, and the transaction
held as (
    select
        commits.cluster,
        commits.group_id,
        commits.name,
        commits.transactional_id,
        commits.producer_id,
        transactions.producer_epoch,
        transactions.partition_key,
        transactions.started_position,
        min_by(commits.client_id, struct(commits.responded_at, commits.request_id)) as client_id,
        min_by({{ host_of('commits.connection') }}, struct(commits.responded_at, commits.request_id)) as host,
        min(commits.responded_at) as held_since,
        min(transactions.started_at) as started_at,
        min(transactions.completed_at) as completed_at,
        min(transactions.completed_position) as completed_position,
        min(transactions.outcome) as outcome,
        min(transactions.abort_cause) as abort_cause,
        min(transactions.transaction_timeout_ms) as transaction_timeout_ms
    from commits
    inner join {{ source('silver', 'transactions') }} as transactions
        on
            commits.cluster = transactions.cluster
            and commits.transactional_id = transactions.transactional_id
            and commits.producer_id = transactions.producer_id
            and commits.producer_epoch = transactions.producer_epoch
            and commits.responded_at >= transactions.started_at
            and coalesce(
                commits.requested_at <= transactions.completed_at, transactions.completed_position is null
            )
    group by
        commits.cluster,
        commits.group_id,
        commits.name,
        commits.transactional_id,
        commits.producer_id,
        transactions.producer_epoch,
        transactions.partition_key,
        transactions.started_position
),

holders as (
    select
        asked.*,
        count(held.transactional_id) as holders,
        {{ same('struct(held.transactional_id, held.partition_key, held.started_position)') }} as holder
    from asked
    left join held
        on
            asked.cluster = held.cluster
            and asked.group_id = held.group_id
            and concat(asked.topic, ':', asked.partition) = held.name
            and asked.responded_at >= held.held_since
            and coalesce(asked.requested_at <= held.completed_at, held.completed_position is null)
    group by
        asked.cluster,
        asked.request_id,
        asked.group_id,
        asked.topic,
        asked.partition,
        asked.client_id,
        asked.host,
        asked.broker_id,
        asked.requested_at,
        asked.responded_at
),

followed as (
    select
        *,
        -- clients ask again within a second
        coalesce(
            lag(holder) over client is not distinct from holder
            and unix_millis(requested_at) - unix_millis(lag(responded_at) over client) < 60000,
            false
        ) as goes_on
    from holders
    window client as (
        partition by cluster, group_id, topic, partition, client_id, host order by responded_at, request_id
    )
),

numbered as (
    select
        *,
        count_if(not goes_on) over (
            partition by cluster, group_id, topic, partition, client_id, host
            order by responded_at, request_id
        ) as episode
    from followed
),

episodes as (
    select
        cluster,
        group_id,
        topic,
        partition,
        client_id,
        host,
        min(broker_id) as coordinator,
        min_by(request_id, struct(responded_at, request_id)) as first_request_id,
        count(*) as answers,
        min(requested_at) as began_at,
        max(responded_at) as last_answer_at,
        max(holders) as holders,
        max(holder) as holder
    from numbered
    group by cluster, group_id, topic, partition, client_id, host, episode
)

select
    episodes.cluster,
    episodes.group_id,
    episodes.topic,
    episodes.partition,
    episodes.client_id,
    episodes.host,
    episodes.coordinator,
    episodes.began_at,
    episodes.last_answer_at,
    unix_millis(episodes.last_answer_at) - unix_millis(episodes.began_at) as waited_ms,
    episodes.answers,
    episodes.holders,
    case
        when held.transactional_id is not null then cast(null as string)
        when episodes.holders > 0 then 'several_states'
        else 'not_captured'
    end as unknown_reason,
    held.transactional_id,
    held.producer_id,
    held.producer_epoch,
    held.client_id as holder_client_id,
    held.host as holder_host,
    held.held_since,
    held.started_at,
    held.completed_at,
    held.outcome,
    held.abort_cause,
    if(
        held.completed_position is null,
        timestamp_millis(unix_millis(held.started_at) + held.transaction_timeout_ms),
        null
    ) as times_out_at,
    episodes.first_request_id
from episodes
left join held
    on
        episodes.cluster = held.cluster
        and episodes.group_id = held.group_id
        and concat(episodes.topic, ':', episodes.partition) = held.name
        and episodes.holder.transactional_id = held.transactional_id
        and episodes.holder.partition_key = held.partition_key
        and episodes.holder.started_position = held.started_position
