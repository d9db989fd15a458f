-- Each request of an owner that the broker's fencing refused: what was lost, when it was made good, who would
-- have accepted it.
{% set policies = var('policies') %}
{% set facts = [
    'member_id', 'client_id', 'protocol', 'is_transactional', 'transactional_id', 'producer_id', 'producer_epoch',
    'client_epoch', 'requested_at', 'responded_at', 'broker_error', 'transaction_outcome', 'transaction_ended_at',
    'file', 'position',
] %}
with

commits as (
    select
        *,
        coalesce(topic_id, topic) as topic_key,
        {{ records_between('offset_before', 'committed_offset') }} as records,
        -- an offset in a transaction is stored when the transaction commits, if it does
        case
            when broker_answer <> 'accept' then cast(null as timestamp)
            when not is_transactional then responded_at
            when outcome in ('committed', 'skipped') then transaction_ended_at
        end as stored_at
    from {{ ref('fct_offset_commits') }}
),

refused as (
    select
        *,
        date_trunc('hour', responded_at) as hour
    from commits
    where is_spurious
),

partitions as (
    select distinct
        cluster,
        group_id,
        topic_key,
        partition
    from refused
),

-- of all that was ever committed, what may make a refused commit good
stored as (
    select /*+ broadcast(partitions) */
        commits.cluster,
        commits.group_id,
        commits.topic_key,
        commits.partition,
        commits.committed_offset,
        commits.stored_at,
        date_trunc('hour', commits.stored_at) as hour
    from commits
    inner join partitions
        on
            commits.cluster = partitions.cluster
            and commits.group_id = partitions.group_id
            and commits.topic_key = partitions.topic_key
            and commits.partition = partitions.partition
    where commits.stored_at is not null
),

hours as (
    select
        cluster,
        group_id,
        topic_key,
        partition,
        hour,
        max(committed_offset) as highest_offset
    from stored
    group by cluster, group_id, topic_key, partition, hour
),

-- The first commit that makes a refused one good is in the hour of the refusal, or in the first later hour
-- that reaches its offset: joined by hour, the commits of a week do not each meet every refusal.
searched as (
    select
        commit_id,
        cluster,
        group_id,
        topic_key,
        partition,
        committed_offset,
        responded_at,
        hour
    from refused
    union all
    select
        refused.commit_id,
        refused.cluster,
        refused.group_id,
        refused.topic_key,
        refused.partition,
        refused.committed_offset,
        refused.responded_at,
        min(hours.hour) as hour
    from refused
    inner join hours
        on
            refused.cluster = hours.cluster
            and refused.group_id = hours.group_id
            and refused.topic_key = hours.topic_key
            and refused.partition = hours.partition
            and refused.hour < hours.hour
            and refused.committed_offset <= hours.highest_offset
    group by
        refused.commit_id,
        refused.cluster,
        refused.group_id,
        refused.topic_key,
        refused.partition,
        refused.committed_offset,
        refused.responded_at
),

recovered as (
    select
        searched.cluster,
        searched.commit_id,
        min(stored.stored_at) as recovered_at
    from searched
    inner join stored
        on
            searched.cluster = stored.cluster
            and searched.group_id = stored.group_id
            and searched.topic_key = stored.topic_key
            and searched.partition = stored.partition
            and searched.hour = stored.hour
            and searched.responded_at <= stored.stored_at
            and searched.committed_offset <= stored.committed_offset
    group by searched.cluster, searched.commit_id
),

requests as (
    select
        refused.cluster,
        refused.group_id,
        refused.request_id,
        -- the same for all partitions of a request
        {%- for fact in facts %}
        max(refused.{{ fact }}) as {{ fact }},
        {%- endfor %}
        {%- for policy in policies %}
        {{ accepts_all('refused.decision_' ~ policy) }} as accepted_by_{{ policy }},
        {%- endfor %}
        min(refused.unknown_reason) as unknown_reason,
        count(*) as partitions,
        sum(refused.records) as records_to_reprocess,
        count(refused.records) as partitions_with_records,
        min(recovered.recovered_at) as recovered_at,
        count(recovered.recovered_at) as partitions_recovered
    from refused
    left join recovered
        on refused.cluster = recovered.cluster and refused.commit_id = recovered.commit_id
    group by refused.cluster, refused.group_id, refused.request_id
)

select
    cluster,
    group_id,
    request_id,
    member_id,
    client_id,
    protocol,
    client_epoch,
    transactional_id,
    producer_id,
    producer_epoch,
    requested_at,
    responded_at as refused_at,
    broker_error,
    partitions,
    records_to_reprocess,
    partitions_with_records,
    transaction_outcome,
    transaction_ended_at,
    case
        when not is_transactional or transaction_outcome = 'committed' then false
        when transaction_outcome = 'aborted' then true
    end as aborted_by_false_fencing,
    recovered_at,
    cast(unix_millis(recovered_at) - unix_millis(responded_at) as bigint) as recovery_ms,
    partitions_recovered,
    {%- for policy in policies %}
    accepted_by_{{ policy }},
    {%- endfor %}
    if(
        {%- for policy in policies %}
        accepted_by_{{ policy }} is null{{ ' or' if not loop.last }}
        {%- endfor %},
        unknown_reason,
        null
    ) as unknown_reason,
    file,
    position
from requests
