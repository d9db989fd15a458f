-- How long producers were told CONCURRENT_TRANSACTIONS, and the transaction that was not complete meanwhile.
{#- The default of clients' retry.backoff.max.ms. -#}
{%- set retry_backoff_max_ms = 1000 %}
{%- set client = "(partition by cluster, transactional_id, api_name, client_id, host "
    ~ "order by responded_at, file, position, request_id)" %}
with

waiting as (
    select distinct
        cluster,
        transactional_id
    from {{ source('silver', 'producer_requests') }}
    where error = 'CONCURRENT_TRANSACTIONS' and api_key in (22, 24, 25, 26, 28)
),

-- a request about several partitions is one answer
concerned as (
    select
        requests.cluster,
        requests.request_id,
        requests.transactional_id,
        requests.api_name,
        min(requests.client_id) as client_id,
        {{ host_of('min(requests.connection)') }} as host,
        min(requests.broker_id) as broker_id,
        bool_or(requests.error = 'CONCURRENT_TRANSACTIONS') as waits,
        max(requests.error) filter (where requests.error <> 'NONE') as error,
        min(requests.requested_at) as requested_at,
        min(requests.responded_at) as responded_at,
        min(requests.file) as file,
        min(requests.position) as position
    from {{ source('silver', 'producer_requests') }} as requests
    left semi join waiting
        on requests.cluster = waiting.cluster and requests.transactional_id = waiting.transactional_id
    where requests.error is not null and requests.api_key in (22, 24, 25, 26, 28)
    group by requests.cluster, requests.request_id, requests.transactional_id, requests.api_name
),

followed as (
    select
        *,
        coalesce(lag(waits) over {{ client }}, false) as waited,
        lead(requested_at) over {{ client }} as next_asked_at,
        lead(responded_at) over {{ client }} as next_at,
        lead(coalesce(error, 'NONE')) over {{ client }} as next_error
    from concerned
),

numbered as (
    select
        *,
        count_if(not waited) over {{ client }} as episode
    from followed
    where waits
),

episodes as (
    select
        cluster,
        transactional_id,
        api_name,
        client_id,
        host,
        min(broker_id) as coordinator,
        min_by(request_id, struct(responded_at, file, position, request_id)) as first_request_id,
        count(*) as answers,
        min(requested_at) as began_at,
        max(responded_at) as last_answer_at,
        max_by(next_asked_at, struct(responded_at, file, position, request_id)) as asked_again_at,
        max_by(next_at, struct(responded_at, file, position, request_id)) as ended_at,
        max_by(next_error, struct(responded_at, file, position, request_id)) as ended_with
    from numbered
    group by cluster, transactional_id, api_name, client_id, host, episode
),

begun as (
    {{ last_transactions('episodes', 'first_request_id', 'last_answer_at') }}
),

-- if it was not complete when the client began to wait
blocked as (
    select
        episodes.cluster,
        episodes.transactional_id,
        episodes.first_request_id,
        transactions.partition_key,
        transactions.producer_id,
        transactions.producer_epoch,
        transactions.outcome,
        transactions.abort_cause,
        transactions.prepared_position,
        transactions.started_at,
        transactions.prepared_at,
        transactions.completed_at
    from episodes
    inner join begun
        on
            episodes.cluster = begun.cluster
            and episodes.transactional_id = begun.transactional_id
            and episodes.first_request_id = begun.first_request_id
    inner join {{ source('silver', 'transactions') }} as transactions
        on
            begun.cluster = transactions.cluster
            and begun.transactional_id = transactions.transactional_id
            and begun.transaction.partition_key = transactions.partition_key
            and begun.transaction.started_position = transactions.started_position
    where coalesce(transactions.completed_at >= episodes.began_at, transactions.completed_position is null)
),

-- the marker that came last, or did not come
awaited as (
    select
        blocked.cluster,
        blocked.first_request_id,
        {{ sorted_names('case when markers.found = 0 then markers.transaction_partition end') }} as missing,
        -- which came last is known only if it is known of all
        if(
            count(markers.marker_at) = count(*),
            max_by(markers.transaction_partition, struct(markers.marker_at, markers.transaction_partition)),
            null
        ) as last_partition,
        if(count(markers.marker_at) = count(*), max(markers.marker_at), null) as last_marker_at
    from blocked
    inner join {{ source('silver', 'transaction_markers') }} as markers
        on
            blocked.cluster = markers.cluster
            and blocked.partition_key = markers.partition_key
            and blocked.prepared_position = markers.from_position
    group by blocked.cluster, blocked.first_request_id
),

named as (
    select
        episodes.*,
        blocked.first_request_id is not null as is_blocked,
        blocked.producer_id,
        blocked.producer_epoch,
        blocked.outcome,
        blocked.abort_cause,
        blocked.started_at,
        blocked.prepared_at,
        blocked.completed_at,
        awaited.missing,
        awaited.last_marker_at,
        if(array_size(awaited.missing) > 0, awaited.missing[0], awaited.last_partition) as awaited_partition,
        -- who asks again later than clients repeat a request had stopped waiting, unless it was still in vain
        coalesce(
            unix_millis(episodes.asked_again_at) - unix_millis(greatest(
                episodes.last_answer_at, coalesce(blocked.completed_at, episodes.last_answer_at)
            )) <= {{ retry_backoff_max_ms }},
            false
        ) as went_on
    from episodes
    left join blocked
        on episodes.cluster = blocked.cluster and episodes.first_request_id = blocked.first_request_id
    left join awaited
        on episodes.cluster = awaited.cluster and episodes.first_request_id = awaited.first_request_id
),

-- who wrote its markers there, or else the only broker that ever answered for the partition
writers as (
    select
        cluster,
        producer_id,
        concat(topic, ':', partition) as name,
        {{ same('broker_id') }} as broker_id
    from {{ source('silver', 'producer_requests') }}
    where api_key = 27 and error = 'NONE'
    group by cluster, producer_id, topic, partition
),

leaders as (
    select
        cluster,
        concat(topic, ':', partition) as name,
        {{ same('broker_id') }} as broker_id
    from {{ source('silver', 'producer_requests') }}
    where api_key in (0, 27) and error = 'NONE'
    group by cluster, topic, partition
)

select
    named.cluster,
    named.transactional_id,
    named.client_id,
    named.host,
    named.api_name,
    named.coordinator,
    named.began_at,
    named.last_answer_at,
    named.ended_at,
    named.ended_with,
    unix_millis(if(named.went_on, named.ended_at, named.last_answer_at))
    - unix_millis(named.began_at) as waited_ms,
    named.answers,
    case
        when not named.is_blocked or named.outcome is null then 'unknown'
        when named.prepared_at is null then 'open_transaction'
        when named.missing is null then 'coordinator'
        when array_size(named.missing) > 0 then 'missing_marker'
        else 'marker'
    end as waited_for,
    if(not named.is_blocked or named.outcome is null, 'not_captured', null) as unknown_reason,
    named.producer_id,
    named.producer_epoch,
    named.outcome,
    named.abort_cause,
    named.started_at,
    named.prepared_at,
    named.completed_at,
    named.missing as missing_markers,
    named.awaited_partition,
    named.last_marker_at,
    coalesce(writers.broker_id, leaders.broker_id) as awaited_broker_id,
    named.first_request_id
from named
left join writers
    on
        named.cluster = writers.cluster
        and named.producer_id = writers.producer_id
        and named.awaited_partition = writers.name
left join leaders
    on named.cluster = leaders.cluster and named.awaited_partition = leaders.name
