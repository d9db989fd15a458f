-- What false fencing cost each group on each day, and what each policy would have spared it.
{% set policies = var('policies') %}
with

requests as (
    select
        *,
        cast(requested_at as date) as day
    from {{ ref('fct_false_fencing') }}
),

-- a commit that is repeated and refused again is about the same records: each counts once
partitions as (
    select
        cluster,
        group_id,
        cast(requested_at as date) as day,
        max({{ records_between('offset_before', 'committed_offset') }}) as records_to_reprocess
    from {{ ref('fct_offset_commits') }}
    where is_spurious
    group by
        cluster, group_id, cast(requested_at as date), coalesce(topic_id, topic), partition, offset_before
),

records as (
    select
        cluster,
        group_id,
        day,
        sum(records_to_reprocess) as records_to_reprocess
    from partitions
    group by cluster, group_id, day
),

counted as (
    select
        cluster,
        group_id,
        day,
        count(*) as refused_requests,
        count(distinct member_id) as members,
        sum(partitions) as refused_commits,
        sum(partitions_with_records) as commits_with_records,
        count(distinct struct(producer_id, producer_epoch, transaction_ended_at)) filter (
            where aborted_by_false_fencing
        ) as transactions_aborted,
        count_if(aborted_by_false_fencing is null) as requests_with_unknown_transaction,
        count(recovered_at) as recovered_requests,
        sum(recovery_ms) as recovery_ms,
        max(recovery_ms) as longest_recovery_ms,
        {%- for policy in policies %}
        count_if(accepted_by_{{ policy }}) as spared_by_{{ policy }}{{ ',' if not loop.last }}
        {%- endfor %}
    from requests
    group by cluster, group_id, day
)

select
    counted.cluster,
    counted.group_id,
    counted.day,
    counted.refused_requests,
    counted.refused_commits,
    counted.members,
    counted.transactions_aborted,
    counted.requests_with_unknown_transaction,
    records.records_to_reprocess,
    counted.commits_with_records,
    counted.recovered_requests,
    counted.recovery_ms,
    counted.longest_recovery_ms,
    {%- for policy in policies %}
    counted.spared_by_{{ policy }}{{ ',' if not loop.last }}
    {%- endfor %}
from counted
inner join records
    on counted.cluster = records.cluster and counted.group_id = records.group_id and counted.day = records.day
