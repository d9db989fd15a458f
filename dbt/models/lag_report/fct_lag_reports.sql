-- What instances of Kafka Streams reported of their tasks, and the assignment that it led to.
with

decided as (
    {{ decided({
        'proposed_total_lag': 'proposed_total_lag',
        'shipped_total_lag': 'shipped_total_lag',
    }, 'lag_report_id') }}
)

select
    reports.cluster,
    reports.application_id,
    reports.lag_report_id,
    reports.generation,
    reports.member_id,
    reports.group_instance_id,
    reports.instance,
    reports.process_id,
    reports.client_host,
    reports.task_id,
    reports.kind,
    reports.offset_sum,
    reports.logged_offset_sum,
    reports.end_offset_sum,
    reports.logged_stores,
    reports.non_logged_stores,
    coalesce(decided.proposed_total_lag, 'unknown') as proposed_total_lag,
    coalesce(decided.shipped_total_lag, 'unknown') as shipped_total_lag,
    case
        when decided.proposed_total_lag is null or decided.shipped_total_lag is null
            then coalesce(decided.unknown_reason, 'not_captured')
    end as unknown_reason,
    reports.leader_lag,
    reports.assigned_as,
    reports.assigned_to,
    reports.reported_at,
    reports.assigned_at,
    reports.subscription_info_version,
    reports.request_id,
    reports.record_offset,
    reports.file,
    reports.position,
    reports.chapter
from {{ in_changed_chapters(source('silver', 'lag_reports')) }} as reports
left join decided
    on reports.cluster = decided.cluster and reports.lag_report_id = decided.lag_report_id
