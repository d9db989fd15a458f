-- How long consumers were told UNSTABLE_OFFSET_COMMIT, and whose transaction held the offset.
{%- set client = "(partition by cluster, group_id, topic, partition, client_id, host "
    ~ "order by responded_at, request_id)" %}
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
        requests.committed_partitions,
        requests.transactional_id,
        requests.producer_id,
        requests.producer_epoch,
        requests.client_id,
        {{ host_of('requests.connection') }} as host,
        requests.requested_at,
        requests.responded_at
    from {{ source('silver', 'producer_requests') }} as requests
    left semi join asked
        on requests.cluster = asked.cluster and requests.group_id = asked.group_id
    where requests.api_key = 28 and array_size(requests.committed_partitions) > 0
),

begun as (
    {{ last_transactions('commits', 'request_id', 'responded_at') }}
),

-- the offsets that transactions committed for the group
held as (
    select
        commits.cluster,
        commits.group_id,
        explode(commits.committed_partitions) as name,
        commits.request_id,
        commits.client_id,
        commits.host,
        commits.responded_at as held_since,
        transactions.transactional_id,
        transactions.producer_id,
        transactions.producer_epoch,
        transactions.started_at,
        transactions.completed_at,
        transactions.completed_position,
        transactions.outcome,
        transactions.abort_cause,
        transactions.transaction_timeout_ms
    from commits
    inner join begun
        on
            commits.cluster = begun.cluster
            and commits.transactional_id = begun.transactional_id
            and commits.request_id = begun.request_id
    inner join {{ source('silver', 'transactions') }} as transactions
        on
            begun.cluster = transactions.cluster
            and begun.transactional_id = transactions.transactional_id
            and begun.transaction.partition_key = transactions.partition_key
            and begun.transaction.started_position = transactions.started_position
            and commits.producer_id = transactions.producer_id
            and commits.producer_epoch = transactions.producer_epoch
    where coalesce(transactions.completed_at >= commits.requested_at, transactions.completed_position is null)
),

-- the last of them before a fetch was answered
last_held as (
    select
        cluster,
        group_id,
        name,
        request_id,
        max(commit) over (
            partition by cluster, group_id, name
            order by at, request_id nulls first
            rows between unbounded preceding and current row
        ) as commit
    from (
        select
            cluster,
            group_id,
            name,
            held_since as at,
            cast(null as string) as request_id,
            struct(held_since, request_id as commit_id) as commit
        from held
        union all
        select
            cluster,
            group_id,
            concat(topic, ':', partition) as name,
            responded_at as at,
            request_id,
            null as commit
        from asked
    ) as moments
),

holders as (
    select
        asked.*,
        -- if it was not complete then
        if(
            coalesce(held.completed_at >= asked.requested_at, held.completed_position is null),
            held.request_id,
            null
        ) as holder
    from asked
    left join last_held
        on
            asked.cluster = last_held.cluster
            and asked.group_id = last_held.group_id
            and concat(asked.topic, ':', asked.partition) = last_held.name
            and asked.request_id = last_held.request_id
    left join held
        on
            last_held.cluster = held.cluster
            and last_held.group_id = held.group_id
            and last_held.name = held.name
            and last_held.commit.commit_id = held.request_id
),

followed as (
    select
        *,
        -- clients ask again within a second
        coalesce(
            lag(holder) over {{ client }} is not distinct from holder
            and unix_millis(requested_at) - unix_millis(lag(responded_at) over {{ client }}) < 60000,
            false
        ) as goes_on
    from holders
),

numbered as (
    select
        *,
        count_if(not goes_on) over {{ client }} as episode
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
    if(held.request_id is null, 'not_captured', null) as unknown_reason,
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
        {{ times_out_at('held.started_at', 'held.transaction_timeout_ms') }},
        null
    ) as times_out_at,
    episodes.first_request_id
from episodes
left join held
    on
        episodes.cluster = held.cluster
        and episodes.group_id = held.group_id
        and concat(episodes.topic, ':', episodes.partition) = held.name
        and episodes.holder = held.request_id
