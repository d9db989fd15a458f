-- scopes, sides, counted -> for each definition and cluster, how often it was judged: what it was counted before, less what
-- was so, and what is.
SELECT
  definition,
  cluster,
  CAST(SUM(scopes) AS BIGINT) AS scopes,
  CAST(SUM(checked) AS BIGINT) AS checked,
  CAST(SUM(exercised) AS BIGINT) AS exercised,
  CAST(SUM(holds) AS BIGINT) AS holds,
  CAST(SUM(violated) AS BIGINT) AS violated,
  CAST(SUM(unknown) AS BIGINT) AS unknown
FROM (
  SELECT
    definition,
    sides.cluster,
    sign AS scopes,
    sign * checked AS checked,
    sign * exercised AS exercised,
    sign * holds AS holds,
    sign * violated AS violated,
    sign * unknown AS unknown
  FROM scopes
  JOIN sides
    ON scopes.cluster = sides.place
  UNION ALL
  SELECT invariant, cluster, scopes, checked, exercised, holds, violated, unknown
  FROM counted
) AS weighed
GROUP BY definition, cluster
