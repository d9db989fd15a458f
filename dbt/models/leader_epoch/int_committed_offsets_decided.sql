-- Each offset that was committed, with what each rule makes of it. What became of it since is not in here: no
-- later chapter changes it.
with

decided as (
    {{ decided({'commit_incarnation': 'kip_232', 'shipped_commit_rule': 'shipped'}, 'commit_id') }}
)

select
    committed.cluster,
    committed.topic,
    committed.partition,
    committed.commit_id,
    committed.group_id,
    committed.committed_offset,
    committed.committed_leader_epoch,
    committed.by_id,
    committed.committed_topic_id,
    committed.live_topic_id,
    committed.live_partition_epoch,
    committed.live_leader_epoch,
    committed.origin_topic_id,
    committed.origin_partition_epoch,
    committed.error,
    committed.commit_partition,
    committed.record_offset,
    committed.is_transactional,
    committed.client_id,
    committed.client_host,
    committed.software_name,
    committed.software_version,
    committed.request_id,
    committed.api_version,
    committed.correlation_id,
    committed.file,
    committed.position,
    committed.committed_at,
    committed.from_position,
    committed.to_position,
    decided.kip_232,
    decided.shipped,
    decided.unknown_reason,
    committed.chapter
from {{ in_changed_chapters(source('silver', 'committed_offsets')) }} as committed
left join decided on committed.cluster = decided.cluster and committed.commit_id = decided.commit_id
