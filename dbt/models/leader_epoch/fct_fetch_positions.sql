-- Where consumers began to read, of which incarnation that offset is, and what each rule makes of it.
with

decided as (
    {{ decided({
        'fetch_incarnation': 'kip_232',
        'shipped_fetch_rule': 'shipped',
    }, 'fetch_position_id') }}
)

select
    positions.cluster,
    positions.fetch_position_id,
    positions.topic,
    positions.partition,
    positions.group_id,
    positions.client,
    positions.client_id,
    positions.client_host,
    positions.software_name,
    positions.software_version,
    positions.broker_id,
    positions.requested_at,
    positions.api_version,
    positions.correlation_id,
    positions.by_id as is_by_id,
    positions.asked_topic_id,
    positions.fetch_offset,
    positions.current_leader_epoch,
    positions.last_fetched_epoch,
    positions.origin,
    positions.origin_topic_id,
    positions.origin_partition_epoch,
    positions.origin_leader_epoch,
    positions.origin_commit_id,
    positions.live_topic_id,
    positions.live_partition_epoch,
    positions.live_leader_epoch,
    positions.log_start_offset,
    positions.high_watermark,
    decided.kip_232,
    decided.shipped,
    positions.error,
    positions.diverging_epoch,
    positions.diverging_end_offset,
    positions.error = 'NONE' and positions.diverging_epoch < 0 and decided.kip_232 <> 'NONE'
        as is_unlike_kip_232,
    case
        when decided.kip_232 is null or decided.shipped is null
            then coalesce(decided.unknown_reason, 'topic_unknown')
        when positions.origin is null then 'client_unknown'
    end as unknown_reason,
    positions.request_id,
    positions.file,
    positions.position,
    positions.chapter
from {{ in_changed_chapters(source('silver', 'fetch_positions')) }} as positions
left join decided
    on positions.cluster = decided.cluster and positions.fetch_position_id = decided.fetch_position_id
