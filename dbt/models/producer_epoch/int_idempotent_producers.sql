-- Who was given a producer id without a transactional id: InitProducerId, which any broker answers.
with

asked as (
    select
        cluster,
        returned_producer_id as producer_id,
        min_by(client_id, struct(responded_at, request_id)) as client_id,
        min_by(connection, struct(responded_at, request_id)) as connection,
        min_by(request_id, struct(responded_at, request_id)) as request_id,
        min(responded_at) as given_at
    from {{ source('silver', 'producer_requests') }}
    where api_key = 22 and transactional_id is null and error = 'NONE'
    group by cluster, returned_producer_id
)

select
    *,
    lag(producer_id) over (partition by cluster, client_id, connection order by given_at, producer_id)
        as previous_producer_id
from asked
