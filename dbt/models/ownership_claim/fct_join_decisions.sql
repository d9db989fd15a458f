-- Every JoinGroup: what KIP-792 proposed, what the shipped rule says, and what the broker answered.
with

decided as (
    {{ decided({
        'proposed_join': 'proposed',
        'shipped_join': 'shipped',
    }, 'request_id') }}
),

met as (
    select
        cluster,
        request_id,
        {{ agreed('current_generation') }} as current_generation,
        {{ agreed('member_known') }} as is_member_known
    from {{ in_changed_chapters(source('silver', 'group_join_states')) }}
    group by cluster, request_id
)

select
    joins.cluster,
    joins.group_id,
    joins.life,
    joins.request_id,
    joins.broker_id,
    joins.member_id,
    joins.answered_member_id,
    joins.instance_id,
    joins.client_id,
    joins.api_version,
    joins.reason,
    joins.protocol_type,
    joins.protocols,
    joins.presented_generation,
    joins.claim_source,
    joins.claims,
    joins.claims_held,
    met.current_generation,
    met.is_member_known,
    joins.error,
    joins.response_generation,
    joins.is_leader,
    coalesce(decided.shipped, 'unknown') as shipped,
    coalesce(decided.proposed, 'unknown') as proposed,
    joins.error = 'NONE' and decided.proposed <> 'NONE' as is_stale_admitted,
    joins.requested_at,
    joins.responded_at,
    cast(unix_millis(joins.responded_at) - unix_millis(joins.requested_at) as bigint) as waited_ms,
    joins.candidates,
    case
        when joins.error is null then 'no_answer'
        when decided.shipped is null or decided.proposed is null
            then coalesce(decided.unknown_reason, joins.unknown_reason, 'not_captured')
    end as unknown_reason,
    coalesce(joins.unread_reason, joins.unknown_detail) as unknown_detail,
    joins.file,
    joins.position,
    joins.chapter
from {{ in_changed_chapters(source('silver', 'group_joins')) }} as joins
left join met on joins.cluster = met.cluster and joins.request_id = met.request_id
left join decided on joins.cluster = decided.cluster and joins.request_id = decided.request_id
