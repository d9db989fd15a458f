-- How many commits of each group and client software can be checked against what became of the topic since.
select
    cluster,
    group_id,
    software_name,
    software_version,
    count(*) as commits,
    count_if(committed_leader_epoch < 0) as without_leader_epoch,
    count_if(committed_leader_epoch < 0) / count(*) as share_without_leader_epoch,
    count_if(not is_by_id) as without_topic_id,
    count_if(origin_topic_id is null) as of_unknown_incarnation,
    count_if(is_orphaned) as orphaned,
    max(committed_at) as last_committed_at
from {{ ref('fct_committed_offsets') }}
where error = 'NONE'
group by cluster, group_id, software_name, software_version
