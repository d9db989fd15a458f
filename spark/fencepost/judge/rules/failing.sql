-- judged -> the rows of which a definition does not hold, and where they begin and end. A row about one moment ends
-- just after it; one without a position may be about any.
SELECT
  definition,
  cluster,
  scope,
  witness,
  CASE WHEN verdict IS NULL THEN 'unknown' ELSE 'violated' END AS verdict,
  failed_conjunct,
  reason,
  COALESCE(from_position, -1) AS begins,
  GREATEST(COALESCE(to_position, 9223372036854775807), COALESCE(from_position + 1, 0)) AS ends,
  from_position,
  from_time,
  to_time,
  judged.observed,
  evidence
FROM judged
WHERE NOT COALESCE(verdict, FALSE)
