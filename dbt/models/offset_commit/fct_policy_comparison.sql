-- What each policy would have refused, and what the broker did refuse, by group and day.
with

{% set policies = var('policies') %}
answers as (
    select
        cluster,
        group_id,
        cast(requested_at as date) as day,
        truth,
        -- what presents no epoch is fenced by no policy: it is counted apart
        truth <> 'unfenced' as is_compared,
        stack(
            {{ policies | length + 1 }}
            {%- for policy in policies %},
            '{{ policy }}', decision_{{ policy }}
            {%- endfor %},
            'broker', broker_answer
        ) as (policy, answer)
    from {{ ref('fct_offset_commits') }}
)

select
    cluster,
    group_id,
    day,
    policy,
    count_if(is_compared) as commits,
    count_if(is_compared and answer = 'accept') as accepted,
    count_if(is_compared and answer = 'reject') as refused,
    count_if(is_compared and answer = 'unknown') as `unknown`,
    count_if(is_compared and answer = 'other_error') as other_errors,
    count_if(truth = 'owner') as owners,
    count_if(truth = 'owner' and answer = 'reject') as spurious,
    count_if(truth = 'zombie') as zombies,
    count_if(truth = 'zombie' and answer = 'accept') as zombies_admitted,
    count_if(truth = 'unknown' and answer in ('accept', 'reject')) as truth_unknown,
    count_if(not is_compared) as unfenced
from answers
group by cluster, group_id, day, policy
