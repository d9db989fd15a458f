-- How many commits of each group and client software can be checked against what became of the topic since.
with

commits as (
    select
        cluster,
        group_id,
        software_name,
        software_version,
        count(*) as commits,
        count_if(committed_leader_epoch < 0) as without_leader_epoch,
        count_if(not by_id) as without_topic_id,
        count_if(origin_topic_id is null) as of_unknown_incarnation,
        max(committed_at) as last_committed_at
    from {{ ref('int_committed_offsets_decided') }}
    where error = 'NONE'
    group by cluster, group_id, software_name, software_version
),

orphans as (
    select
        cluster,
        group_id,
        software_name,
        software_version,
        count(*) as orphaned
    from {{ ref('fct_orphaned_offsets') }}
    group by cluster, group_id, software_name, software_version
)

select
    commits.cluster,
    commits.group_id,
    commits.software_name,
    commits.software_version,
    commits.commits,
    commits.without_leader_epoch,
    commits.without_leader_epoch / commits.commits as share_without_leader_epoch,
    commits.without_topic_id,
    commits.of_unknown_incarnation,
    coalesce(orphans.orphaned, 0) as orphaned,
    commits.last_committed_at
from commits
left join orphans
    on
        commits.cluster = orphans.cluster
        and commits.group_id = orphans.group_id
        and commits.software_name <=> orphans.software_name
        and commits.software_version <=> orphans.software_version
