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
), alike AS (
  SELECT
    definition,
    cluster,
    scope,
    witness,
    verdict,
    failed_conjunct,
    MIN(begins) AS begins,
    MAX(ends) AS ends,
    MIN(begins) = MAX(begins) AND MIN(ends) = MAX(ends) AS in_one_place,
    MIN(from_position) AS from_position,
    MIN(from_time) AS from_time,
    MAX(to_time) AS to_time,
    MIN(marked.values) AS values,
    MIN(evidence) AS evidence
  FROM marked
  GROUP BY definition, cluster, scope, witness, verdict, failed_conjunct
), distinct_rows AS (
  -- Most witnesses fail in one place, and are done: to sort their text with that of the others would cost most.
  -- Of the others no two rows are in one place, so that the windows below have one order, whatever that of the
  -- evidence was.
  SELECT
    marked.definition,
    marked.cluster,
    marked.scope,
    marked.witness,
    marked.verdict,
    marked.failed_conjunct,
    marked.begins,
    marked.ends,
    MIN(marked.from_position) AS from_position,
    MIN(marked.from_time) AS from_time,
    MAX(marked.to_time) AS to_time,
    MIN(marked.values) AS values,
    MIN(marked.evidence) AS evidence
  FROM marked
  JOIN (SELECT definition, cluster, scope, witness, verdict, failed_conjunct FROM alike WHERE NOT in_one_place) AS apart
    ON marked.definition = apart.definition
    AND marked.cluster = apart.cluster
    AND marked.scope = apart.scope
    AND marked.witness IS NOT DISTINCT FROM apart.witness
    AND marked.verdict = apart.verdict
    AND marked.failed_conjunct IS NOT DISTINCT FROM apart.failed_conjunct
  GROUP BY
    marked.definition,
    marked.cluster,
    marked.scope,
    marked.witness,
    marked.verdict,
    marked.failed_conjunct,
    marked.begins,
    marked.ends
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
  alike.values,
  evidence
FROM alike
WHERE in_one_place
