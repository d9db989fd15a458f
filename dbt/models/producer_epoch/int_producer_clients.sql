-- Which client held a producer epoch: the one that asked for it, else the only one that presented it, else
-- the one that an EndTxn gave it to. An EndTxn alone does not tell: a recovered job sends it with the epoch
-- of its predecessor, and is given the next one.
with

given as (
    select
        cluster,
        transactional_id,
        producer_id,
        producer_epoch,
        caused_by_client_id as client_id,
        caused_by_connection as connection,
        if(cause = 'end_txn', 2, 0) as rank,
        from_time as seen_at
    from {{ source('silver', 'transactional_ids') }}
    where cause in ('new_instance', 'client_bump', 'end_txn')
),

-- AddOffsetsToTxn, EndTxn, TxnOffsetCommit, and AddPartitionsToTxn (24), in which from version 4 on a broker
-- speaks for the producers that write to it
presented as (
    select
        cluster,
        transactional_id,
        producer_id,
        producer_epoch,
        client_id,
        connection,
        if(api_key = 26, 3, 1) as rank,
        requested_at as seen_at
    from {{ source('silver', 'producer_requests') }}
    where
        error = 'NONE'
        and (api_key in (25, 26, 28) or (api_key = 24 and api_version <= 3))
),

-- an InitProducerId or EndTxn that asks again for what has been done returns the epoch, too
told as (
    select
        cluster,
        transactional_id,
        returned_producer_id as producer_id,
        returned_producer_epoch as producer_epoch,
        client_id,
        connection,
        if(api_key = 26, 2, 1) as rank,
        responded_at as seen_at
    from {{ source('silver', 'producer_requests') }}
    where error = 'NONE' and api_key in (22, 26) and returned_producer_epoch >= 0
),

-- those that did not only end transactions
producers as (
    select
        cluster,
        transactional_id,
        client_id
    from {{ source('silver', 'producer_requests') }}
    where error = 'NONE' and api_key <> 26
    union
    select
        cluster,
        transactional_id,
        client_id
    from given
    where rank = 0
),

found as (
    select * from given
    union all
    select * from presented
    union all
    select * from told
),

held as (
    select
        found.cluster,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.client_id,
        found.connection,
        found.seen_at,
        if(found.rank = 2 and producers.client_id is null, 3, found.rank) as rank
    from found
    left join producers
        on
            found.cluster = producers.cluster
            and found.transactional_id = producers.transactional_id
            and found.client_id = producers.client_id
    where found.client_id is not null and found.transactional_id is not null
)

select
    cluster,
    transactional_id,
    producer_id,
    producer_epoch,
    min_by(client_id, struct(rank, seen_at, client_id)) as client_id,
    if(count(distinct client_id) = 1, min(client_id), null) as only_client_id,
    min_by(connection, struct(rank, seen_at, client_id)) as connection
from held
group by cluster, transactional_id, producer_id, producer_epoch
having
    min(rank) < 3
    -- where the line of who asked for it is missing, the first of several may be another than who held it
    and (min(rank) <> 1 or count(distinct case when rank = 1 then client_id end) = 1)
