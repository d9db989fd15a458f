-- Every partition of every commit request: what was asked, answered, and would have been answered.
{% set decisions = (var('policies') | list) + ['broker_rule'] %}
with

decided as (
    select
        commits.*,
        {%- for decision in decisions %}
        coalesce(decisions.{{ decision }}, 'unknown') as decision_{{ decision }},
        {%- endfor %}
        coalesce(decisions.proposed_error, 'unknown') as proposed_error,
        coalesce(decisions.shipped_error, 'unknown') as shipped_error,
        -- a negative epoch claims no ownership, wherever in the log it was decided
        case
            when commits.client_epoch < 0 then 'unfenced'
            else coalesce(decisions.truth, 'unknown')
        end as truth,
        states.rule,
        states.protocol,
        states.rebalancing,
        states.owner_member_id,
        states.member_epoch,
        states.states,
        states.untold,
        decisions.truth_reason,
        decisions.unknown_reason as decision_reason,
        decisions.commit_id is not null as is_judged,
        case
            -- what was stored was accepted, whatever its client was told
            when commits.broker_error = 'NONE' or commits.record_offset is not null then 'accept'
            when commits.fenced then 'reject'
            when commits.broker_error is null then 'unknown'
            else 'other_error'
        end as broker_answer
    from {{ in_changed_chapters(source('silver', 'offset_commits')) }} as commits
    left join {{ in_changed_chapters(ref('int_commit_states_agreed')) }} as states
        on commits.cluster = states.cluster and commits.commit_id = states.commit_id
    left join {{ in_changed_chapters(ref('int_commit_decisions_pivoted')) }} as decisions
        on commits.cluster = decisions.cluster and commits.commit_id = decisions.commit_id
),

compared as (
    select
        *,
        'unknown' in (
            {%- for decision in decisions %}
            decision_{{ decision }},
            {%- endfor %}
            proposed_error,
            shipped_error,
            truth
        ) as has_unknown
    from decided
)

select
    cluster,
    group_id,
    group_type,
    committer,
    member_id,
    client_id,
    protocol,
    request_id,
    correlation_id,
    api_key,
    api_version,
    topic,
    topic_id,
    partition,
    committed_offset,
    offset_before,
    client_epoch,
    is_transactional,
    transactional_id,
    producer_id,
    producer_epoch,
    transaction_outcome,
    transaction_ended_at,
    outcome,
    requested_at,
    responded_at,
    broker_error,
    shipped_error,
    proposed_error,
    {%- for decision in decisions %}
    decision_{{ decision }},
    {%- endfor %}
    truth,
    case
        when broker_answer in ('accept', 'reject') then {{ known('decision_broker_rule') }} = broker_answer
    end as broker_agrees,
    broker_answer,
    {{ known('broker_answer') }} = 'reject' and {{ known('truth') }} = 'owner' as is_spurious,
    {{ known('broker_answer') }} = 'accept' and {{ known('truth') }} = 'zombie' as is_zombie_admitted,
    commit_id,
    rule,
    rebalancing,
    case
        when broker_answer = 'unknown' then 'no_answer'
        when has_unknown
            then
                coalesce(
                    if(truth = 'unknown', truth_reason, cast(null as string)),
                    decision_reason,
                    unknown_reason,
                    'not_captured'
                )
    end as unknown_reason,
    case
        when broker_answer = 'unknown' then 'the request log does not tell what the broker answered'
        when not has_unknown then cast(null as string)
        when unknown_detail is not null then unknown_detail
        when states is null then 'no state of the group was rebuilt for this commit'
        when untold <> '' then concat('the logs do not tell ', untold, ' at the moment of the commit')
        when not is_judged then 'the commit has not been judged'
        when states > 1
            then concat('decided at one of ', states, ' states of the group, whose answers differ')
        else 'another partition of the same request met an unknown state'
    end as unknown_detail,
    owner_member_id,
    member_epoch,
    file,
    position,
    chapter
from compared
