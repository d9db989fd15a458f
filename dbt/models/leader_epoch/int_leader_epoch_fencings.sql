-- Requests that were refused because a leader, a topic or the active controller was another one by then;
-- brokers that were fenced, and controllers that were followed by another.
with

-- a Fetch need not list a partition that its session has: then fetch_positions knows what was presented
presented as (
    select
        refused.*,
        coalesce(refused.victim_epoch, nullif(positions.current_leader_epoch, -1)) as presented_epoch,
        coalesce(refused.topic_id, positions.live_topic_id) as refused_topic_id
    from {{ source('silver', 'leader_epoch_fencings') }} as refused
    left join {{ source('silver', 'fetch_positions') }} as positions
        on
            refused.cluster = positions.cluster
            and refused.request_id = positions.request_id
            and refused.topic = positions.topic
            and refused.partition = positions.partition
),

-- epochs follow one another, so a refusal shows that the one after the presented epoch was there
fencings as (
    select
        presented.*,
        coalesce(presented.caused_position, elections.elected_position) as changed_position,
        coalesce(
            presented.caused_at, if(elections.elected_at <= presented.occurred_at, elections.elected_at, null)
        ) as changed_at
    from presented
    left join {{ source('silver', 'leader_epochs') }} as elections
        on
            presented.victim_epoch is null
            and presented.cause = 'leader_change'
            and presented.cluster = elections.cluster
            and presented.refused_topic_id = elections.topic_id
            and presented.partition = elections.partition
            and presented.presented_epoch + 1 = elections.leader_epoch
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
        changed_position as caused_position,
        {{ iso_moment('changed_at') }} as caused_at,
        after_cause_ms,
        {{ iso_moment('ended_at') }} as ended_at,
        unix_millis(ended_at) - unix_millis(occurred_at) as lasted_ms,
        -- nothing is written of a candidate whose epoch was over
        if(cause is null, if(kind = 'controller', 'not_logged', 'not_captured'), null) as unknown_reason,
        -- only of a partition that its session had is a leader epoch refused that is not in the line
        if(
            kind = 'leader_epoch' and presented_epoch is null and api_name = 'FETCH', 'client_unknown', null
        ) as victim_epoch_unknown_reason
    )) as evidence
from fencings
