-- judged, scopes, stretches -> the episodes in which a definition holds: from the first to the last row that holds
-- between two stretches in which it is violated or unknown. One pass over beginnings and ends in their order: a scope
-- with many of both costs no more than its rows.
WITH parted AS (
  SELECT DISTINCT definition, cluster, scope FROM stretches
), held AS (
  SELECT
    judged.definition,
    judged.cluster,
    judged.scope,
    from_position AS begins,
    GREATEST(COALESCE(to_position, 9223372036854775807), from_position + 1) AS ends,
    from_time,
    to_time
  FROM judged
  JOIN parted
    ON judged.definition = parted.definition
    AND judged.cluster = parted.cluster
    AND judged.scope = parted.scope
  WHERE verdict AND exercised AND from_position IS NOT NULL
), events AS (
  SELECT definition, cluster, scope, begins AS position, 1 AS turn, 1 AS held, 0 AS opened, 0 AS closed, from_time AS moment
  FROM held
  UNION ALL
  SELECT definition, cluster, scope, ends, 1, -1, 0, 0, to_time
  FROM held
  UNION ALL
  -- What begins where a stretch begins is inside it, what ends there has reached it: the stretch takes its turn first.
  SELECT definition, cluster, scope, begins, 0, 0, 1, 0, from_time
  FROM stretches
  UNION ALL
  SELECT definition, cluster, scope, ends, 2, 0, 0, 1, to_time
  FROM stretches
), swept AS (
  SELECT
    events.*,
    SUM(held) OVER so_far AS holding,
    SUM(opened - closed) OVER so_far AS inside,
    SUM(closed) OVER so_far AS room
  FROM events
  WINDOW so_far AS (PARTITION BY definition, cluster, scope ORDER BY position, turn ROWS UNBOUNDED PRECEDING)
), rooms AS (
  SELECT
    definition,
    cluster,
    scope,
    MAX(CASE WHEN closed = 1 AND holding > 0 THEN position END) AS entered,
    MAX(CASE WHEN closed = 1 AND holding > 0 THEN moment END) AS entered_at,
    MIN(CASE WHEN held = 1 AND inside = 0 THEN position END) AS begun,
    MIN(CASE WHEN held = 1 AND inside = 0 THEN moment END) AS begun_at,
    MAX(CASE WHEN opened = 1 AND holding > 0 THEN position END) AS met,
    MAX(CASE WHEN opened = 1 AND holding > 0 THEN moment END) AS met_at,
    MAX(CASE WHEN held = -1 AND inside = 0 THEN position END) AS ended,
    MAX(CASE WHEN held = -1 AND inside = 0 THEN moment END) AS ended_at
  FROM swept
  GROUP BY definition, cluster, scope, room
)
SELECT
  definition,
  cluster,
  scope,
  COALESCE(entered, begun) AS from_position,
  COALESCE(met, ended) AS ends,
  CASE WHEN entered IS NULL THEN begun_at ELSE entered_at END AS from_time,
  CASE WHEN met IS NULL THEN ended_at ELSE met_at END AS to_time
FROM rooms
WHERE COALESCE(entered, begun) IS NOT NULL
UNION ALL
SELECT
  scopes.definition,
  scopes.cluster,
  scopes.scope,
  from_position,
  ends,
  from_time,
  to_time
FROM scopes
LEFT JOIN parted
  ON scopes.definition = parted.definition
  AND scopes.cluster = parted.cluster
  AND scopes.scope = parted.scope
WHERE parted.scope IS NULL AND from_position IS NOT NULL
