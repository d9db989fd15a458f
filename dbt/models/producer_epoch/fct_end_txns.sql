-- Each EndTxn: what KIP-890 proposed, what the shipped rule says, and what the broker answered.
with

decided as (
    {{ decided({'kip_890_end_txn': 'kip_890', 'shipped_end_txn': 'shipped'}, 'request_id') }}
),

states as (
    {{ states_met('end_txn_states', 'request_id') }}
)

select
    requests.cluster,
    requests.transactional_id,
    requests.request_id,
    requests.broker_id,
    requests.client_id,
    requests.connection,
    requests.correlation_id,
    requests.api_version,
    requests.commit as is_commit,
    requests.provided_id,
    requests.provided_epoch,
    states.status,
    states.current_producer_id,
    cast(states.current_epoch as bigint) as current_epoch,
    decided.kip_890,
    decided.shipped,
    requests.error,
    requests.returned_id,
    requests.returned_epoch,
    decided.kip_890 <> decided.shipped as is_shipped_unlike_kip_890,
    case
        when decided.kip_890 is null or decided.shipped is null
            then coalesce(decided.unknown_reason, requests.unknown_reason, 'not_captured')
    end as unknown_reason,
    case
        when decided.kip_890 is not null and decided.shipped is not null then cast(null as string)
        when requests.unknown_detail is not null then requests.unknown_detail
        else {{ undecided_detail('(decided.request_id is not null)', 'states.states') }}
    end as unknown_detail,
    requests.requested_at,
    requests.responded_at,
    requests.record_offset,
    states.from_position as met_from_position,
    states.to_position as met_to_position,
    requests.file,
    requests.position,
    requests.chapter
from {{ in_changed_chapters(source('silver', 'end_txns')) }} as requests
left join decided on requests.cluster = decided.cluster and requests.request_id = decided.request_id
left join states on requests.cluster = states.cluster and requests.request_id = states.request_id
