-- What members claimed when they joined, as long as they claimed it alike; what KIP-792's rule and its
-- predecessor make of it, and what the assignor did.
with

decided as (
    {{ decided({
        'claim_by_generation': 'standing',
        'claim_by_newest_generation': 'standing_by_newest_generation',
    }, 'claim_id') }}
)

select
    claims.cluster,
    claims.group_id,
    claims.life,
    claims.generation,
    claims.last_generation,
    cast(claims.records as bigint) as rebalances,
    claims.member_id,
    claims.client_id,
    claims.instance_id,
    claims.topic,
    claims.topic_id,
    claims.partition,
    claims.subscription_version,
    claims.claimed_generation,
    claims.claim_source,
    claims.is_held,
    claims.is_subscribed,
    coalesce(decided.standing, 'unknown') as standing,
    coalesce(decided.standing_by_newest_generation, 'unknown') as standing_by_newest_generation,
    claims.contradicted_by as other_member_id,
    nullif(claims.greatest_claim_of_others, -2) as other_claimed_generation,
    claims.others_at_greatest_claim as other_members,
    claims.was_assigned,
    case
        when claims.assigned_to_self and claims.assigned_to_another then 'both'
        when claims.assigned_to_self then 'kept'
        when claims.assigned_to_another then 'given_to_another'
        when not claims.assigned_to_self and not claims.assigned_to_another then 'taken_away'
        else 'unknown'
    end as outcome,
    case
        when decided.standing is null or decided.standing_by_newest_generation is null
            then coalesce(decided.unknown_reason, 'unread')
        when claims.assigned_to_self is null or claims.assigned_to_another is null then 'unread'
        else claims.was_assigned_unknown
    end as unknown_reason,
    claims.assigned_to,
    claims.unread_reason,
    claims.from_time as claimed_at,
    claims.record_offset,
    claims.last_record_offset,
    claims.claim_id,
    claims.chapter
from {{ in_changed_chapters(source('silver', 'ownership_claims')) }} as claims
left join decided on claims.cluster = decided.cluster and claims.claim_id = decided.claim_id
