-- What each policy would have refused, and what the broker did refuse, by group and day.
with

{% set policies = var('policies') %}
answers as (
    select
        cluster,
        group_id,
        day,
        commits as number,
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
    from {{ ref('int_commit_answers_counted') }}
)

select
    cluster,
    group_id,
    day,
    policy,
    coalesce(sum(number) filter (where is_compared), 0) as commits,
    coalesce(sum(number) filter (where is_compared and answer = 'accept'), 0) as accepted,
    coalesce(sum(number) filter (where is_compared and answer = 'reject'), 0) as refused,
    coalesce(sum(number) filter (where is_compared and answer = 'unknown'), 0) as `unknown`,
    coalesce(sum(number) filter (where is_compared and answer = 'other_error'), 0) as other_errors,
    coalesce(sum(number) filter (where truth = 'owner'), 0) as owners,
    coalesce(sum(number) filter (where truth = 'owner' and answer = 'reject'), 0) as spurious,
    coalesce(sum(number) filter (where truth = 'zombie'), 0) as zombies,
    coalesce(sum(number) filter (where truth = 'zombie' and answer = 'accept'), 0) as zombies_admitted,
    coalesce(
        sum(number) filter (where truth = 'unknown' and answer in ('accept', 'reject')), 0
    ) as truth_unknown,
    coalesce(sum(number) filter (where not is_compared), 0) as unfenced
from answers
group by cluster, group_id, day, policy
