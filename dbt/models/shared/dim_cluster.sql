-- Each cluster, and how much of it was judged.
select
    cluster,
    max(since) as since,
    count(*) as definitions,
    count_if(exercised > 0) as exercised,
    count_if(status = 'violated') as violated
from {{ ref('fct_invariant_coverage') }}
group by cluster
