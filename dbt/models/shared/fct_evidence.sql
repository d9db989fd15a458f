-- Which records the audit rests on, and which of them it could not understand.
select
    cluster,
    topic,
    record_type,
    record_name,
    value_version,
    decode_status,
    count(*) as records,
    timestamp_millis(min(timestamp_ms)) as first_written_at,
    timestamp_millis(max(timestamp_ms)) as last_written_at
from {{ source('bronze', 'records') }}
group by cluster, topic, record_type, record_name, value_version, decode_status
