-- Stored commits of which the request log has no line, although it has earlier and later ones.
select
    cluster,
    coordinator_topic_id,
    coordinator_partition,
    record_offset,
    broker_id,
    group_id,
    topic,
    partition,
    committed_offset,
    stored_at,
    chapter
from {{ in_changed_chapters(source('silver', 'unlogged_commits')) }}
