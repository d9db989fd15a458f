-- Every request that was refused because an epoch had moved on, every broker fenced and every controller
-- followed by another: of all protocols.
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
    fencings.cluster,
    'producer_epoch' as protocol,
    fencings.occurred_at,
    coalesce(fencings.transactional_id, cast(fencings.producer_id as string), fencings.client_id) as victim,
    case
        when fencings.transactional_id is not null then 'transactional_id'
        when fencings.producer_id is not null then 'producer'
        else 'client'
    end as victim_kind,
    to_json(struct(fencings.transactional_id, fencings.producer_id)) as scope,
    fencings.cause,
    fencings.error,
    fencings.victim_epoch,
    fencings.current_epoch,
    fencings.in_flight,
    to_json(struct(
        fencings.file,
        fencings.position,
        fencings.request_id,
        fencings.api_name,
        fencings.client_id,
        fencings.connection,
        -- where a broker asked for the producer, the client is another one
        clients.client_id as victim_client_id,
        fencings.current_producer_id,
        fencings.caused_by_client_id,
        fencings.caused_by_connection,
        fencings.fenced_position,
        fencings.fenced_at
    )) as evidence
from {{ source('silver', 'producer_fencings') }} as fencings
left join {{ ref('int_producer_clients') }} as clients
    on
        fencings.cluster = clients.cluster
        and fencings.transactional_id = clients.transactional_id
        and fencings.producer_id = clients.producer_id
        and fencings.victim_epoch = clients.producer_epoch
union all
select
    commits.cluster,
    'offset_commit' as protocol,
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
    'offset_commit' as protocol,
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
union all
select
    cluster,
    'leader_epoch' as protocol,
    occurred_at,
    victim,
    case
        when kind = 'controller' then 'controller'
        when victim_broker_id is not null then 'broker'
        else 'client'
    end as victim_kind,
    to_json(struct(topic, topic_id, partition, victim_broker_id as broker_id)) as scope,
    cause,
    error,
    victim_epoch,
    current_epoch,
    case
        -- who fetches or asks has nothing under way
        when error is not null then '[]'
        when leaders_moved is not null or isr_shrunk is not null
            then to_json(array(struct(leaders_moved, isr_shrunk)))
    end as in_flight,
    to_json(struct(
        file,
        position,
        request_id,
        fencing_id,
        api_name,
        client_id,
        connection,
        caused_position,
        caused_at,
        ended_at,
        unix_millis(ended_at) - unix_millis(occurred_at) as lasted_ms
    )) as evidence
from {{ source('silver', 'leader_epoch_fencings') }}
