-- unmet -> for each definition and scope the stretches in which it is violated or unknown, of whatever witness: in
-- order, and none touches the next.
WITH distinct_rows AS (
  SELECT definition, cluster, scope, begins, ends, MIN(from_time) AS from_time, MAX(to_time) AS to_time
  FROM unmet
  GROUP BY definition, cluster, scope, begins, ends
), reaching AS (
  SELECT
    distinct_rows.*,
    MAX(ends) OVER (
      PARTITION BY definition, cluster, scope
      ORDER BY begins, ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS reached
  FROM distinct_rows
), numbered AS (
  SELECT
    reaching.*,
    SUM(CASE WHEN reached >= begins THEN 0 ELSE 1 END) OVER (
      PARTITION BY definition, cluster, scope
      ORDER BY begins, ends
      ROWS UNBOUNDED PRECEDING
    ) AS stretch
  FROM reaching
), ended AS (
  SELECT numbered.*, MAX(ends) OVER (PARTITION BY definition, cluster, scope, stretch) AS last_end
  FROM numbered
)
SELECT
  definition,
  cluster,
  scope,
  MIN(begins) AS begins,
  MAX(ends) AS ends,
  MIN(from_time) AS from_time,
  MAX(CASE WHEN ends = last_end THEN to_time END) AS to_time
FROM ended
GROUP BY definition, cluster, scope, stretch
