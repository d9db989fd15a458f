-- Evidence that could not be read, by file and reason; of records that could not be decoded by topic.
select
    cluster,
    broker_id,
    kind,
    reason,
    file,
    count(*) as entries,
    min(position) as first_position,
    min_by(detail, coalesce(position, -1)) as detail,
    max(captured_at) as last_captured_at
from {{ source('bronze', 'quarantine') }}
group by cluster, broker_id, kind, reason, file
union all
select
    cluster,
    cast(null as int) as broker_id,
    'record' as kind,
    decode_status as reason,
    topic as file,
    sum(records) as entries,
    cast(null as bigint) as first_position,
    concat(
        'no known release writes ',
        coalesce(max(record_name), 'such records'),
        ' so: a newer one, a preview of groups (3.7), or damage'
    ) as detail,
    cast(null as timestamp) as last_captured_at
from {{ ref('fct_evidence') }}
where decode_status in ('malformed', 'unknown_version')
group by cluster, decode_status, topic
