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
        max(unknown_reason) as unknown_reason,
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
),

-- Commits of members that the coordinator knew no more, because its log had been deleted.
forgotten as (
    select
        cluster,
        request_id,
        group_id,
        cause
    from {{ source('silver', 'member_fencings') }}
    where api_name in ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
),

-- Who had the instance id of a refused member then, give or take a second: another member, or the member
-- itself, if the answer to its first request was lost.
holders as (
    select
        refused.cluster,
        refused.request_id,
        refused.group_id,
        max(members.member_id) as member_id,
        max(members.client_id) as client_id,
        min(members.from_time) as since
    from {{ source('silver', 'member_fencings') }} as refused
    inner join {{ source('silver', 'group_members') }} as members
        on
            refused.cluster = members.cluster
            and refused.group_id = members.group_id
            and refused.instance_id = members.instance_id
    where
        refused.cause = 'instance'
        and (refused.broker_error = 'UNRELEASED_INSTANCE_ID' or refused.member_id <> members.member_id)
        and unix_millis(members.from_time) <= unix_millis(refused.responded_at) + 1000
        and (
            members.to_time is null
            or unix_millis(members.to_time) >= unix_millis(refused.requested_at) - 1000
        )
    group by refused.cluster, refused.request_id, refused.group_id
    having count(distinct members.member_id) = 1
)

select
    commits.cluster,
    commits.responded_at as occurred_at,
    coalesce(nullif(commits.member_id, ''), commits.client_id) as victim,
    if(nullif(commits.member_id, '') is null, 'client', 'member') as victim_kind,
    to_json(struct(commits.group_id)) as scope,
    coalesce(forgotten.cause, commits.rule) as cause,
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
        decided.to_position,
        case
            when forgotten.cause is null and commits.rule is null
                then coalesce(commits.unknown_reason, 'release_unknown')
        end as unknown_reason
    )) as evidence
from commits
left join decided on commits.cluster = decided.cluster and commits.request_id = decided.request_id
left join forgotten
    on
        commits.cluster = forgotten.cluster
        and commits.request_id = forgotten.request_id
        and commits.group_id = forgotten.group_id
union all
select
    refused.cluster,
    refused.responded_at as occurred_at,
    coalesce(nullif(refused.member_id, ''), refused.instance_id, refused.client_id) as victim,
    case
        when nullif(refused.member_id, '') is not null then 'member'
        when refused.instance_id is not null then 'instance'
        else 'client'
    end as victim_kind,
    to_json(struct(refused.group_id)) as scope,
    refused.cause,
    refused.broker_error as error,
    refused.client_epoch as victim_epoch,
    cast(null as int) as current_epoch,
    -- it commits nothing
    '[]' as in_flight,
    to_json(struct(
        refused.file,
        refused.position,
        refused.request_id,
        refused.api_name,
        refused.client_id,
        refused.connection,
        refused.instance_id,
        holders.member_id as holder_member_id,
        holders.client_id as holder_client_id,
        {{ iso_moment('holders.since') }} as held_since
    )) as evidence
from {{ source('silver', 'member_fencings') }} as refused
left join holders
    on
        refused.cluster = holders.cluster
        and refused.request_id = holders.request_id
        and refused.group_id = holders.group_id
where refused.api_name not in ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
