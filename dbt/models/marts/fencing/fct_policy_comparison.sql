-- What each policy would have refused, and what the broker did refuse, by group and day.
with

{% set policies = ['strict', 'member_revocation', 'partition_revocation', 'assignment_epoch'] %}
answers as (
    select
        cluster,
        group_id,
        cast(requested_at as date) as day,
        truth,
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
    count(*) as commits,
    count_if(answer = 'reject') as refused,
    count_if(answer = 'reject' and truth = 'owner') as spurious,
    count_if(answer = 'accept' and truth = 'zombie') as zombies_admitted,
    count_if(answer = 'unknown' or truth = 'unknown') as `unknown`,
    count_if(answer = 'other_error') as other_errors
from answers
group by cluster, group_id, day, policy
