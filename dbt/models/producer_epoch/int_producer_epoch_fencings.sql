-- Requests that were refused because a producer's epoch or id had moved on.
with

-- a connection has one principal as long as it lives
principals as (
    select
        cluster,
        connection,
        {{ same('principal') }} as principal
    from {{ source('silver', 'producer_requests') }}
    where api_key = 22
    group by cluster, connection
)

select
    fencings.cluster,
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
        case
            when fencings.client_id like 'AddPartitionsManager-client-%' then clients.only_client_id
            else fencings.client_id
        end as victim_client_id,
        fencings.current_producer_id,
        fencings.caused_by_client_id,
        fencings.caused_by_connection,
        principals.principal as caused_by_principal,
        fencings.fenced_position,
        {{ iso_moment('fencings.fenced_at') }} as fenced_at,
        unix_millis(fencings.occurred_at) - unix_millis(fencings.caused_at) as after_cause_ms,
        case
            when fencings.cause is not null then null
            -- its line is there: a new instance and an operator ask for the same
            when fencings.caused_by_client_id is not null then 'not_logged'
            else 'not_captured'
        end as unknown_reason
    )) as evidence
from {{ source('silver', 'producer_fencings') }} as fencings
left join {{ ref('int_producer_clients') }} as clients
    on
        fencings.cluster = clients.cluster
        and fencings.transactional_id = clients.transactional_id
        and fencings.producer_id = clients.producer_id
        and fencings.victim_epoch = clients.producer_epoch
left join principals
    on
        fencings.cluster = principals.cluster
        and fencings.caused_by_connection = principals.connection
