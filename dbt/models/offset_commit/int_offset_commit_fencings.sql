-- Requests that were refused because a group's generation, a member's epoch or its membership had moved on.
with

commits as (
    select
        cluster,
        request_id,
        group_id,
        max(member_id) as member_id,
        max(client_id) as client_id,
        max(client_epoch) as client_epoch,
        max(broker_error) as broker_error,
        max(responded_at) as responded_at,
        max(file) as file,
        max(position) as position,
        {{ agreed('rule') }} as rule,
        {{ agreed('member_epoch') }} as member_epoch,
        sort_array(
            collect_list(struct(coalesce(topic, topic_id) as topic, partition, committed_offset as offset))
        ) as offsets
    from {{ ref('fct_offset_commits') }}
    -- an administrator who commits for a living group has no epoch that could be over
    where broker_answer = 'reject' and committer = 'member'
    group by cluster, request_id, group_id
),

decided as (
    select
        cluster,
        request_id,
        min(from_position) as from_position,
        max(to_position) as to_position
    from {{ source('silver', 'offset_commit_states') }}
    where fenced
    group by cluster, request_id
)

select
    commits.cluster,
    commits.responded_at as occurred_at,
    coalesce(nullif(commits.member_id, ''), commits.client_id) as victim,
    if(nullif(commits.member_id, '') is null, 'client', 'member') as victim_kind,
    to_json(struct(commits.group_id)) as scope,
    commits.rule as cause,
    commits.broker_error as error,
    commits.client_epoch as victim_epoch,
    commits.member_epoch as current_epoch,
    to_json(commits.offsets) as in_flight,
    to_json(struct(
        commits.file,
        commits.position,
        commits.request_id,
        commits.client_id,
        decided.from_position,
        decided.to_position
    )) as evidence
from commits
left join decided on commits.cluster = decided.cluster and commits.request_id = decided.request_id
union all
select
    cluster,
    responded_at as occurred_at,
    coalesce(nullif(member_id, ''), instance_id, client_id) as victim,
    case
        when nullif(member_id, '') is not null then 'member'
        when instance_id is not null then 'instance'
        else 'client'
    end as victim_kind,
    to_json(struct(group_id)) as scope,
    cause,
    broker_error as error,
    client_epoch as victim_epoch,
    cast(null as int) as current_epoch,
    -- it commits nothing
    '[]' as in_flight,
    to_json(struct(
        file,
        position,
        request_id,
        api_name,
        client_id,
        connection,
        instance_id
    )) as evidence
from {{ source('silver', 'member_fencings') }}
