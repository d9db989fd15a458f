-- Produce requests that were refused because of their producer's state, with what the partition's log had of
-- that producer. A line of Produce has no batch header: what was presented is known only from other lines.
{%- set of_epochs = ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"] %}
{%- set of_transactions = ["INVALID_TXN_STATE", "TRANSACTION_ABORTABLE", "CONCURRENT_TRANSACTIONS"] %}
{%- set of_sequences = ["OUT_OF_ORDER_SEQUENCE_NUMBER", "DUPLICATE_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"] %}
{%- set errors = "'" ~ (of_epochs + of_transactions + of_sequences) | join("', '") ~ "'" %}
{%- set connection_to = "(partition by requests.cluster, requests.broker_id, requests.connection, "
    ~ "requests.topic, requests.partition "
    ~ "order by requests.responded_at, requests.file, requests.position)" %}
with

refused as (
    select *
    from {{ source('silver', 'producer_requests') }}
    where api_key = 0 and error in ({{ errors }})
),

connections as (
    select distinct
        cluster,
        broker_id,
        connection,
        topic,
        partition
    from refused
),

-- a connection's requests are handled one after the other
followed as (
    select
        requests.*,
        lag(requests.error) over {{ connection_to }} as error_before,
        max(requests.base_offset) over (
            partition by
                requests.cluster, requests.broker_id, requests.connection, requests.topic, requests.partition
            order by requests.responded_at, requests.file, requests.position
            rows between unbounded preceding and 1 preceding
        ) as acknowledged_offset,
        min(requests.base_offset) over (
            partition by
                requests.cluster, requests.broker_id, requests.connection, requests.topic, requests.partition
            order by requests.responded_at, requests.file, requests.position
            rows between 1 following and unbounded following
        ) as next_offset
    from {{ source('silver', 'producer_requests') }} as requests
    left semi join connections
        on
            requests.cluster = connections.cluster
            and requests.broker_id = connections.broker_id
            and requests.connection = connections.connection
            and requests.topic = connections.topic
            and requests.partition = connections.partition
    where requests.api_key = 0
),

asked as (
    select *
    from followed
    where error in ({{ errors }})
),

-- whose batch it was that this connection was acknowledged last
written as (
    select
        asked.cluster,
        asked.request_id,
        asked.topic,
        asked.partition,
        {{ same('states.producer_id') }} as producer_id,
        {{ same('states.producer_epoch') }} as producer_epoch,
        {{ same('states.last_sequence') }} as last_sequence,
        -- nothing changed that until the connection was acknowledged its next batch
        bool_and(
            states.to_position is null
            or coalesce(
                -- a batch that was sent again is answered with the offset that it had
                asked.next_offset > asked.acknowledged_offset and states.to_position >= asked.next_offset,
                false
            )
        ) as lasts
    from asked
    inner join {{ source('silver', 'producer_states') }} as states
        on
            asked.cluster = states.cluster
            and asked.topic = states.topic
            and asked.partition = states.partition
            and asked.acknowledged_offset = states.last_offset
            and not states.marker
    group by asked.cluster, asked.request_id, asked.topic, asked.partition
),

-- where that batch ought to be, and is not: of a topic that was created once, and whose log is known there
lost as (
    select
        asked.cluster,
        asked.request_id,
        asked.topic,
        asked.partition
    from asked
    inner join {{ source('silver', 'log_coverage') }} as logs
        on
            asked.cluster = logs.cluster
            and asked.topic = logs.topic
            and asked.partition = logs.partition
    left anti join written
        on
            asked.cluster = written.cluster
            and asked.request_id = written.request_id
            and asked.topic = written.topic
            and asked.partition = written.partition
    group by asked.cluster, asked.request_id, asked.topic, asked.partition
    having
        min(logs.partition_key) = max(logs.partition_key)
        and bool_or(
            logs.covered
            and asked.acknowledged_offset >= logs.from_position
            and asked.acknowledged_offset < logs.last_position
        )
),

fenced as (
    select
        cluster,
        request_id,
        max(producer_id) as producer_id,
        max(victim_epoch) as victim_epoch,
        max(current_epoch) as current_epoch,
        max(cause) as cause
    from {{ source('silver', 'producer_fencings') }}
    where api_name = 'PRODUCE'
    group by cluster, request_id
),

found as (
    select
        asked.*,
        {{ host_of('asked.connection') }} as host,
        coalesce(fenced.producer_id, written.producer_id) as found_producer_id,
        fenced.victim_epoch as presented_epoch,
        fenced.current_epoch,
        fenced.cause as fencing_cause,
        if(written.lasts, written.producer_epoch, null) as known_epoch,
        if(written.lasts, written.last_sequence, null) as known_last_sequence,
        case
            {%- for error in of_epochs %}
            when asked.error = '{{ error }}' then 'epoch_is_over'
            {%- endfor %}
            {%- for error in of_transactions %}
            when asked.error = '{{ error }}' then 'not_in_transaction'
            {%- endfor %}
            when asked.error = 'DUPLICATE_SEQUENCE_NUMBER' then 'sent_again'
            when asked.error = 'UNKNOWN_PRODUCER_ID' and written.producer_id is not null
                then 'broker_lost_state'
            when lost.request_id is not null then 'broker_lost_records'
            when asked.error <> 'OUT_OF_ORDER_SEQUENCE_NUMBER' or written.producer_id is null then 'unknown'
            else 'out_of_sequence'
        end as reason
    from asked
    left join written
        on
            asked.cluster = written.cluster
            and asked.request_id = written.request_id
            and asked.topic = written.topic
            and asked.partition = written.partition
    left join lost
        on
            asked.cluster = lost.cluster
            and asked.request_id = lost.request_id
            and asked.topic = lost.topic
            and asked.partition = lost.partition
    left join fenced
        on asked.cluster = fenced.cluster and asked.request_id = fenced.request_id
)

select
    cluster,
    request_id,
    topic,
    partition,
    broker_id,
    client_id,
    host,
    transactional_id,
    error,
    reason,
    if(reason = 'unknown', 'not_captured', null) as unknown_reason,
    fencing_cause,
    requested_at,
    responded_at,
    error_before,
    found_producer_id as producer_id,
    presented_epoch,
    cast(current_epoch as bigint) as current_epoch,
    acknowledged_offset,
    known_epoch,
    known_last_sequence,
    file,
    position
from found
