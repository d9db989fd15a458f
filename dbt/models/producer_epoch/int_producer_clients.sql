-- Which client held a producer epoch: the one it was given to, else the first that presented it. An EndTxn
-- alone does not tell: a recovered job sends it with the epoch of its predecessor.
with

given as (
    select
        cluster,
        transactional_id,
        producer_id,
        producer_epoch,
        caused_by_client_id as client_id,
        caused_by_connection as connection,
        0 as is_presented,
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
        if(api_key = 26, 2, 1) as is_presented,
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
        1 as is_presented,
        responded_at as seen_at
    from {{ source('silver', 'producer_requests') }}
    where error = 'NONE' and api_key in (22, 26) and returned_producer_epoch >= 0
),

held as (
    select * from given
    union all
    select * from presented
    union all
    select * from told
)

select
    cluster,
    transactional_id,
    producer_id,
    producer_epoch,
    min_by(client_id, struct(is_presented, seen_at, client_id)) as client_id,
    if(count(distinct client_id) = 1, min(client_id), null) as only_client_id,
    min_by(connection, struct(is_presented, seen_at, client_id)) as connection
from held
where client_id is not null and transactional_id is not null
group by cluster, transactional_id, producer_id, producer_epoch
having min(is_presented) < 2
