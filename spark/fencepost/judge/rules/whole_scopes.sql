-- gathered -> scopes, of all chapters together: how often a definition was judged in each, and from where to where it
-- held, whatever lies between; and in which chapter last.
SELECT
  definition,
  cluster,
  scope,
  CAST(SUM(checked) AS BIGINT) AS checked,
  CAST(SUM(exercised) AS BIGINT) AS exercised,
  CAST(SUM(holds) AS BIGINT) AS holds,
  CAST(SUM(violated) AS BIGINT) AS violated,
  CAST(SUM(unknown) AS BIGINT) AS unknown,
  MIN(CASE WHEN kind = 'held' THEN begins END) AS from_position,
  MAX(CASE WHEN kind = 'held' THEN ends END) AS ends,
  MIN(CASE WHEN kind = 'held' THEN from_time END) AS from_time,
  MAX(CASE WHEN kind = 'held' THEN to_time END) AS to_time,
  MAX(chapter) AS chapter
FROM gathered
WHERE definition IS NOT NULL
GROUP BY definition, cluster, scope
