-- Each partition added to a transaction, or verified: what the shipped rule says, and the broker's answer.
with

decided as (
    {{ decided({'shipped_add_partitions_to_txn': 'shipped'}, 'addition_id') }}
),

states as (
    {{ states_met('add_partitions_to_txn_states', 'addition_id') }}
)

select
    requests.cluster,
    requests.transactional_id,
    requests.transaction_partition,
    requests.addition_id,
    requests.request_id,
    requests.broker_id,
    requests.client_id,
    requests.connection,
    requests.correlation_id,
    requests.api_version,
    requests.verify_only as is_verification,
    requests.provided_id,
    requests.provided_epoch,
    states.status,
    states.current_producer_id,
    cast(states.current_epoch as bigint) as current_epoch,
    decided.shipped,
    requests.error,
    case
        when decided.shipped is null
            then coalesce(decided.unknown_reason, requests.unknown_reason, 'not_captured')
    end as unknown_reason,
    case
        when decided.shipped is not null then cast(null as string)
        when requests.unknown_detail is not null then requests.unknown_detail
        else {{ undecided_detail('(decided.addition_id is not null)', 'states.states') }}
    end as unknown_detail,
    requests.requested_at,
    requests.responded_at,
    requests.record_offset,
    states.from_position as met_from_position,
    states.to_position as met_to_position,
    requests.file,
    requests.position,
    requests.chapter
from {{ in_changed_chapters(source('silver', 'add_partitions_to_txns')) }} as requests
left join decided on requests.cluster = decided.cluster and requests.addition_id = decided.addition_id
left join states on requests.cluster = states.cluster and requests.addition_id = states.addition_id
