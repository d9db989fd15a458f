-- scopes -> for each definition and cluster, how often it was judged.
SELECT
  definition,
  cluster,
  COUNT(*) AS scopes,
  CAST(SUM(checked) AS BIGINT) AS checked,
  CAST(SUM(exercised) AS BIGINT) AS exercised,
  CAST(SUM(holds) AS BIGINT) AS holds,
  CAST(SUM(violated) AS BIGINT) AS violated,
  CAST(SUM(unknown) AS BIGINT) AS unknown
FROM scopes
GROUP BY definition, cluster
