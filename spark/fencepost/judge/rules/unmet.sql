-- failing -> the episodes in which a definition is violated or unknown: rows of one witness that fail alike and touch
-- or overlap, made one. Reason, values and evidence are those of the first, the chapter is that of the last.
WITH apart AS (
  SELECT definition, cluster, scope, witness, verdict, failed_conjunct
  FROM failing
  GROUP BY definition, cluster, scope, witness, verdict, failed_conjunct
  HAVING COUNT(*) > 1
), distinct_rows AS (
  -- Most witnesses fail in one row, which is their episode: to group their text with that of the others would cost most.
  -- Of the others no two rows are in one place, so that the windows below have one order, whatever that of the
  -- evidence was.
  SELECT
    failing.definition,
    failing.cluster,
    failing.scope,
    failing.witness,
    failing.verdict,
    failing.failed_conjunct,
    failing.begins,
    failing.ends,
    MIN(failing.from_position) AS from_position,
    MIN(failing.from_time) AS from_time,
    MAX(failing.to_time) AS to_time,
    MIN(failing.reason) AS reason,
    MIN(failing.observed) AS observed,
    MIN(failing.evidence) AS evidence,
    MAX(failing.chapter) AS chapter
  FROM failing
  JOIN apart
    ON failing.definition = apart.definition
    AND failing.cluster = apart.cluster
    AND failing.scope = apart.scope
    AND failing.witness IS NOT DISTINCT FROM apart.witness
    AND failing.verdict = apart.verdict
    AND failing.failed_conjunct IS NOT DISTINCT FROM apart.failed_conjunct
  GROUP BY
    failing.definition,
    failing.cluster,
    failing.scope,
    failing.witness,
    failing.verdict,
    failing.failed_conjunct,
    failing.begins,
    failing.ends
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
  MAX(CASE WHEN first = 1 THEN reason END) AS reason,
  MAX(CASE WHEN first = 1 THEN ended.observed END) AS observed,
  MAX(CASE WHEN first = 1 THEN evidence END) AS evidence,
  MAX(chapter) AS chapter
FROM ended
GROUP BY definition, cluster, scope, witness, verdict, failed_conjunct, episode
UNION ALL
SELECT
  definition,
  cluster,
  scope,
  witness,
  verdict,
  failed_conjunct,
  begins,
  ends,
  from_position,
  from_time,
  to_time,
  reason,
  failing.observed,
  evidence,
  chapter
FROM failing
WHERE NOT EXISTS (
  SELECT 1
  FROM apart
  WHERE failing.definition = apart.definition
    AND failing.cluster = apart.cluster
    AND failing.scope = apart.scope
    AND failing.witness IS NOT DISTINCT FROM apart.witness
    AND failing.verdict = apart.verdict
    AND failing.failed_conjunct IS NOT DISTINCT FROM apart.failed_conjunct
)
