-- Where a producer's batches in a partition do not follow one another: what the verdicts say, in words.
{% set kinds = {
    'no_write_after_fence': 'epoch_fell',
    'new_epoch_starts_at_sequence_zero': 'new_epoch_not_zero',
    'no_sequence_gap': 'gap',
    'no_sequence_reset': 'duplicate',
} %}
with

appends as (
    select
        *,
        -- what came before is only told where the log has no hole in between
        lag(to_position) over history = from_position as has_previous,
        lag(producer_epoch) over history as epoch_before,
        lag(first_sequence) over history as first_before,
        lag(last_sequence) over history as last_before,
        lag(silent_ms) over history as silent_before
    from {{ source('silver', 'producer_states') }}
    window history as (partition by cluster, partition_key, producer_id order by from_position)
),

violated as (
    select
        cluster,
        get_json_object(witness, '$.p') as partition_key,
        cast(get_json_object(witness, '$.k') as bigint) as producer_id,
        from_position,
        to_position,
        case invariant
            {%- for invariant, kind in kinds.items() %}
            when '{{ invariant }}' then '{{ kind }}'
            {%- endfor %}
        end as kind
    from {{ source('verdicts', 'episodes') }}
    where
        verdict = 'violated'
        and invariant in (
            {%- for invariant in kinds %}
            '{{ invariant }}'{{ ',' if not loop.last }}
            {%- endfor %}
        )
),

anomalies as (
    select
        appends.*,
        case
            when violated.kind <> 'duplicate' or appends.first_sequence <> 0 then violated.kind
            -- a client that numbers anew, unless it is the first batch that came again
            when appends.first_before = 0 and appends.last_before = appends.last_sequence then 'duplicate'
            else 'reset'
        end as kind
    from appends
    inner join violated
        on
            appends.cluster = violated.cluster
            and appends.partition_key = violated.partition_key
            and appends.producer_id = violated.producer_id
            and appends.from_position >= violated.from_position
            and appends.from_position < coalesce(violated.to_position, appends.from_position + 1)
    union all
    select
        *,
        'local_bump' as kind
    from appends
    where cause = 'local' and producer_epoch > epoch_before and has_previous
),

names as (
    select
        cluster,
        producer_id,
        max(transactional_id) as transactional_id
    from {{ source('silver', 'transactional_ids') }}
    group by cluster, producer_id
)

select
    anomalies.cluster,
    anomalies.topic,
    anomalies.partition,
    anomalies.partition_key,
    anomalies.producer_id,
    names.transactional_id,
    anomalies.kind,
    anomalies.producer_epoch,
    if(anomalies.has_previous, anomalies.epoch_before, null) as previous_epoch,
    if(anomalies.has_previous, anomalies.last_before, null) as previous_last_sequence,
    case
        when anomalies.kind in ('local_bump', 'new_epoch_not_zero') then 0
        when anomalies.kind <> 'epoch_fell' then {{ next_sequence('anomalies.last_before') }}
    end as expected_sequence,
    if(anomalies.marker, null, anomalies.first_sequence) as found_sequence,
    anomalies.marker as is_marker,
    if(anomalies.has_previous, anomalies.silent_before, null) as silent_ms,
    anomalies.last_offset as base_offset,
    anomalies.from_time as occurred_at
from anomalies
left join names on anomalies.cluster = names.cluster and anomalies.producer_id = names.producer_id
