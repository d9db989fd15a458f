-- Evidence that could not be read, by file and reason.
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
