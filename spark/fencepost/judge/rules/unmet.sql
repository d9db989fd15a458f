-- judged -> the episodes in which a definition is violated or unknown: rows of one witness that fail alike and touch
-- or overlap, made one. Values and evidence are those of the first. A row about one moment ends just after it; one
-- without a position may be about any.
WITH marked AS (
  SELECT
    definition,
    cluster,
    scope,
    witness,
    CASE WHEN verdict IS NULL THEN 'unknown' ELSE 'violated' END AS verdict,
    failed_conjunct,
    from_position,
    COALESCE(from_position, -1) AS begins,
    GREATEST(COALESCE(to_position, 9223372036854775807), COALESCE(from_position + 1, 0)) AS ends,
    from_time,
    to_time,
    judged.values,
    evidence
  FROM judged
  WHERE NOT COALESCE(verdict, FALSE)
), distinct_rows AS (
  -- no two in one place: the order of the windows below is then an order, whatever the order of the evidence was
  SELECT
    definition,
    cluster,
    scope,
    witness,
    verdict,
    failed_conjunct,
    begins,
    ends,
    MIN(from_position) AS from_position,
    MIN(from_time) AS from_time,
    MAX(to_time) AS to_time,
    MIN(marked.values) AS values,
    MIN(evidence) AS evidence
  FROM marked
  GROUP BY definition, cluster, scope, witness, verdict, failed_conjunct, begins, ends
), reaching AS (
  SELECT
    distinct_rows.*,
    MAX(ends) OVER (
      PARTITION BY definition, cluster, scope, witness, verdict, failed_conjunct
      ORDER BY begins, ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS reached
  FROM distinct_rows
), numbered AS (
  SELECT
    reaching.*,
    CASE WHEN reached >= begins THEN 0 ELSE 1 END AS first,
    SUM(CASE WHEN reached >= begins THEN 0 ELSE 1 END) OVER (
      PARTITION BY definition, cluster, scope, witness, verdict, failed_conjunct
      ORDER BY begins, ends
      ROWS UNBOUNDED PRECEDING
    ) AS episode
  FROM reaching
), ended AS (
  SELECT
    numbered.*,
    MAX(ends) OVER (
      PARTITION BY definition, cluster, scope, witness, verdict, failed_conjunct, episode
    ) AS last_end
  FROM numbered
)
SELECT
  definition,
  cluster,
  scope,
  witness,
  verdict,
  failed_conjunct,
  MIN(begins) AS begins,
  MAX(ends) AS ends,
  MIN(from_position) AS from_position,
  MIN(from_time) AS from_time,
  MAX(CASE WHEN ends = last_end THEN to_time END) AS to_time,
  MAX(CASE WHEN first = 1 THEN ended.values END) AS values,
  MAX(CASE WHEN first = 1 THEN evidence END) AS evidence
FROM ended
GROUP BY definition, cluster, scope, witness, verdict, failed_conjunct, episode
