-- Where a producer's batches in a partition do not follow one another as its leader would have had them.
{% set half_of_the_sequences = 1073741824 %}
with

appends as (
    select
        *,
        -- what came before is only told where the log has no hole in between
        lag(to_position) over history = from_position as has_previous,
        lag(producer_epoch) over history as epoch_before,
        lag(first_sequence) over history as first_before,
        lag(last_sequence) over history as last_before
    from {{ source('silver', 'producer_states') }}
    window history as (partition by cluster, partition_key, producer_id order by from_position)
),

followed as (
    select
        *,
        case
            when marker or first_sequence < 0 then cast(null as int)
            when producer_epoch > epoch_before or (producer_epoch = epoch_before and last_before < 0) then 0
            when producer_epoch = epoch_before then {{ next_sequence('last_before') }}
        end as expected_sequence
    from appends
    where has_previous
),

judged as (
    select
        *,
        array_compact(array(
            if(producer_epoch < epoch_before, 'epoch_fell', null),
            if(producer_epoch > epoch_before and cause = 'local', 'local_bump', null),
            case
                when expected_sequence is null or first_sequence = expected_sequence then cast(null as string)
                when producer_epoch > epoch_before or last_before < 0 then 'new_epoch_not_zero'
                when first_sequence = first_before and last_sequence = last_before then 'duplicate'
                when first_sequence = 0 then 'reset'
                when
                    pmod(cast(first_sequence as bigint) - expected_sequence, {{ 2 * half_of_the_sequences }})
                    < {{ half_of_the_sequences }}
                    then 'gap'
                else 'duplicate'
            end
        )) as kinds
    from followed
),

anomalies as (
    select
        *,
        explode(kinds) as kind
    from judged
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
    anomalies.epoch_before as previous_epoch,
    anomalies.last_before as previous_last_sequence,
    anomalies.expected_sequence,
    if(anomalies.marker, null, anomalies.first_sequence) as found_sequence,
    anomalies.marker as is_marker,
    anomalies.last_offset as base_offset,
    anomalies.from_time as occurred_at
from anomalies
left join names on anomalies.cluster = names.cluster and anomalies.producer_id = names.producer_id
