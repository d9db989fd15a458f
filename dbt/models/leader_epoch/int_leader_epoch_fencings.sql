-- Requests that were refused because a leader, a topic or the active controller was another one by then;
-- brokers that were fenced, and controllers that were followed by another.
with

-- a fetch that does not list the partition has the epoch that its session has
sessions as (
    select
        cluster,
        request_id,
        topic,
        partition,
        nullif(current_leader_epoch, -1) as leader_epoch
    from {{ source('silver', 'fetch_positions') }}
),

fencings as (
    select
        refused.*,
        coalesce(refused.victim_epoch, sessions.leader_epoch) as presented_epoch
    from {{ source('silver', 'leader_epoch_fencings') }} as refused
    left join sessions
        on
            refused.cluster = sessions.cluster
            and refused.request_id = sessions.request_id
            and refused.topic = sessions.topic
            and refused.partition = sessions.partition
            and refused.kind = 'leader_epoch'
)

select
    cluster,
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
    presented_epoch as victim_epoch,
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
        {{ iso_moment('caused_at') }} as caused_at,
        after_cause_ms,
        {{ iso_moment('ended_at') }} as ended_at,
        unix_millis(ended_at) - unix_millis(occurred_at) as lasted_ms,
        -- nothing is written of a candidate whose epoch was over
        if(cause is null, if(kind = 'controller', 'not_logged', 'not_captured'), null) as unknown_reason,
        if(kind = 'leader_epoch' and presented_epoch is null, 'client_unknown', null) as epoch_unknown_reason
    )) as evidence
from fencings
