-- How many answers of each broker were older than what the client had, by each rule.
{% set rules = ['kip_232', 'kip_232_without_max', 'shipped'] %}
with

judged as (
    select
        cluster,
        request_id,
        {%- for rule in rules %}
        bool_or({{ rule }} = 'OUTDATED') as {{ rule }},
        count({{ rule }}) < count(*) as {{ rule }}_unknown,
        {%- endfor %}
        bool_or(kip_232 = 'OUTDATED' and is_accepted) as accepted
    from {{ ref('fct_metadata_answers') }}
    group by cluster, request_id
)

select
    answers.cluster,
    answers.broker_id,
    answers.client_id,
    answers.software_name,
    answers.software_version,
    count(*) as answers,
    count_if(answers.changed > 0) as answers_with_news,
    {%- for rule in rules %}
    count_if(judged.{{ rule }}) as outdated_{{ rule }},
    count_if(not coalesce(judged.{{ rule }}, false) and judged.{{ rule }}_unknown) as unknown_{{ rule }},
    {%- endfor %}
    count_if(judged.accepted) as outdated_accepted,
    max(answers.behind_ms) as longest_behind_ms,
    min(answers.responded_at) filter (where judged.kip_232) as first_outdated_at,
    max(answers.responded_at) filter (where judged.kip_232) as last_outdated_at
from {{ source('silver', 'metadata_answers') }} as answers
left join judged on answers.cluster = judged.cluster and answers.request_id = judged.request_id
group by
    answers.cluster,
    answers.broker_id,
    answers.client_id,
    answers.software_name,
    answers.software_version
