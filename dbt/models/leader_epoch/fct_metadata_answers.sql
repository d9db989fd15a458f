-- What answers told clients that was not in their caches, and what each rule makes of it.
with

decided as (
    {{ decided({
        'outdated_with_max': 'kip_232',
        'outdated': 'kip_232_without_max',
        'shipped_metadata_rule': 'shipped',
    }, 'answer_partition_id') }}
)

select
    told.cluster,
    told.request_id,
    told.topic,
    told.partition,
    told.broker_id,
    told.client,
    told.client_id,
    told.client_host,
    told.software_name,
    told.software_version,
    told.api_name,
    told.api_version,
    told.correlation_id,
    told.requested_at,
    told.responded_at,
    told.cached as is_cached,
    told.cached_topic_id,
    told.cached_partition_epoch,
    told.cached_leader_epoch,
    told.cached_max_partition_epoch,
    told.told as is_told,
    told.told_topic_id,
    told.told_partition_epoch,
    told.told_leader_epoch,
    told.told_max_partition_epoch,
    told.told_leader,
    told.error,
    answers.behind_ms,
    decided.kip_232,
    decided.kip_232_without_max,
    decided.shipped,
    told.accepted as is_accepted,
    told.accepted = (decided.kip_232 = 'OUTDATED') as is_unlike_kip_232,
    case
        when decided.kip_232 is null or decided.kip_232_without_max is null or decided.shipped is null
            then coalesce(decided.unknown_reason, 'client_unknown')
        when told.accepted is null then 'client_unknown'
    end as unknown_reason,
    told.answer_partition_id,
    told.file,
    told.position,
    told.chapter
from {{ in_changed_chapters(source('silver', 'metadata_answer_partitions')) }} as told
left join {{ in_changed_chapters(source('silver', 'metadata_answers')) }} as answers
    on told.cluster = answers.cluster and told.request_id = answers.request_id
left join decided on told.cluster = decided.cluster and told.answer_partition_id = decided.answer_partition_id
