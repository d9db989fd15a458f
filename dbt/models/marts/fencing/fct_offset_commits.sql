-- Every partition of every commit request: what was asked, answered, and would have been answered.
with

decided as (
    select
        commits.*,
        coalesce(decisions.strict, 'unknown') as decision_strict,
        coalesce(decisions.member_revocation, 'unknown') as decision_member_revocation,
        coalesce(decisions.partition_revocation, 'unknown') as decision_partition_revocation,
        coalesce(decisions.assignment_epoch, 'unknown') as decision_assignment_epoch,
        -- a negative epoch claims no ownership, wherever in the log it was decided
        case
            when commits.client_epoch < 0 then 'unfenced'
            else coalesce(states.truth, 'unknown')
        end as truth,
        states.rule,
        states.owner_member_id,
        states.member_epoch,
        states.states,
        states.untold,
        decisions.commit_id is not null as is_judged,
        case
            when commits.broker_error = 'NONE' then 'accept'
            when coalesce(states.fenced, commits.broker_error in ({{ fencing_errors() }})) then 'reject'
            else 'other_error'
        end as broker_answer
    from {{ source('silver', 'offset_commits') }} as commits
    left join {{ ref('int_commit_states_agreed') }} as states
        on commits.cluster = states.cluster and commits.commit_id = states.commit_id
    left join {{ ref('int_commit_decisions_pivoted') }} as decisions
        on commits.cluster = decisions.cluster and commits.commit_id = decisions.commit_id
),

compared as (
    select
        *,
        case rule
            when 'strict' then decision_strict
            when 'assignment_epoch' then decision_assignment_epoch
            else 'unknown'
        end as decision_of_broker_rule,
        'unknown' in (
            decision_strict,
            decision_member_revocation,
            decision_partition_revocation,
            decision_assignment_epoch,
            truth
        ) as has_unknown
    from decided
)

select
    cluster,
    group_id,
    member_id,
    client_id,
    correlation_id,
    api_key,
    api_version,
    topic,
    topic_id,
    partition,
    committed_offset,
    client_epoch,
    is_transactional,
    requested_at,
    responded_at,
    broker_error,
    decision_strict,
    decision_member_revocation,
    decision_partition_revocation,
    decision_assignment_epoch,
    truth,
    case
        when decision_of_broker_rule = 'unknown' or broker_answer = 'other_error' then cast(null as boolean)
        else decision_of_broker_rule = broker_answer
    end as broker_agrees,
    broker_answer,
    commit_id,
    rule,
    case
        when unknown_reason is not null then unknown_reason
        when not has_unknown then cast(null as string)
        when states is null then 'no state of the group was rebuilt for this commit'
        when untold <> '' then concat('the logs do not tell ', untold, ' at the moment of the commit')
        when not is_judged then 'the commit has not been judged'
        when states > 1
            then concat('decided at one of ', states, ' states of the group, whose answers differ')
        else 'another partition of the same request met an unknown state'
    end as unknown_reason,
    owner_member_id,
    member_epoch,
    file,
    position
from compared
