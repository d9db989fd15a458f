-- judged -> one row for each definition and scope: how often it was judged there, and from where to where it held
-- (exercised, at a known position), whatever lies between.
SELECT
  definition,
  cluster,
  scope,
  COUNT(CASE WHEN witness IS NOT NULL OR verdict IS NOT NULL THEN 1 END) AS checked,
  COUNT(CASE WHEN exercised THEN 1 END) AS exercised,
  COUNT(CASE WHEN verdict AND exercised THEN 1 END) AS holds,
  COUNT(CASE WHEN NOT verdict THEN 1 END) AS violated,
  COUNT(CASE WHEN verdict IS NULL THEN 1 END) AS unknown,
  MIN(CASE WHEN verdict AND exercised THEN from_position END) AS from_position,
  MAX(
    CASE
      WHEN verdict AND exercised AND from_position IS NOT NULL
      THEN GREATEST(COALESCE(to_position, 9223372036854775807), from_position + 1)
    END
  ) AS ends,
  MIN(CASE WHEN verdict AND exercised AND from_position IS NOT NULL THEN from_time END) AS from_time,
  MAX(CASE WHEN verdict AND exercised AND from_position IS NOT NULL THEN to_time END) AS to_time
FROM judged
GROUP BY definition, cluster, scope
