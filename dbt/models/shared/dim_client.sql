-- Each client.id in the request logs.
select
    cluster,
    client_id,
    max_by(software_name, struct(last_logged_at_ms, software_name))
    filter (where software_name is not null) as software_name,
    count(distinct connection) as connections,
    timestamp_millis(min(first_logged_at_ms)) as first_seen_at,
    timestamp_millis(max(last_logged_at_ms)) as last_seen_at
from {{ source('bronze', 'request_ids') }}
where client_id is not null
group by cluster, client_id
