-- judged, scopes, stretches -> the episodes in which a definition holds: from the first to the last row that holds
-- between two stretches in which it is violated or unknown. One pass over beginnings and ends in their order: a scope
-- with many of both costs no more than its rows.
WITH parted AS (
  -- numbered, because to sort by numbers costs a third of sorting by names
  SELECT definition, cluster, scope, ROW_NUMBER() OVER (ORDER BY definition, cluster, scope) AS place
  FROM (SELECT DISTINCT definition, cluster, scope FROM stretches) AS named
), held AS (
  SELECT
    place,
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
), unheld AS (
  SELECT place, begins, ends, from_time, to_time
  FROM stretches
  JOIN parted
    ON stretches.definition = parted.definition
    AND stretches.cluster = parted.cluster
    AND stretches.scope = parted.scope
), events AS (
  -- at one position in turn: what ends there is still outside a stretch that begins there, what begins there is
  -- already outside one that ends there
  SELECT place, ends AS position, 0 AS turn, -1 AS held, 0 AS opened, 0 AS closed, to_time AS moment
  FROM held
  UNION ALL
  SELECT place, begins, 1, 0, 1, 0, from_time
  FROM unheld
  UNION ALL
  SELECT place, ends, 2, 0, 0, 1, to_time
  FROM unheld
  UNION ALL
  SELECT place, begins, 3, 1, 0, 0, from_time
  FROM held
), swept AS (
  SELECT
    events.*,
    SUM(held) OVER so_far AS holding,
    SUM(opened - closed) OVER so_far AS inside,
    SUM(closed) OVER so_far AS room
  FROM events
  WINDOW so_far AS (PARTITION BY place ORDER BY position, turn ROWS UNBOUNDED PRECEDING)
), rooms AS (
  -- what lies between two stretches: entered and departed from by rows that reach over them, or begun and ended
  SELECT
    place,
    MAX(CASE WHEN closed = 1 AND holding > 0 THEN position END) AS entered,
    MAX(CASE WHEN closed = 1 AND holding > 0 THEN moment END) AS entered_at,
    MIN(CASE WHEN held = 1 AND inside = 0 THEN position END) AS begun,
    MIN(CASE WHEN held = 1 AND inside = 0 THEN moment END) AS begun_at,
    MAX(CASE WHEN opened = 1 AND holding > 0 THEN position END) AS departed,
    MAX(CASE WHEN opened = 1 AND holding > 0 THEN moment END) AS departed_at,
    MAX(CASE WHEN held = -1 AND inside = 0 THEN position END) AS ended,
    MAX(CASE WHEN held = -1 AND inside = 0 THEN moment END) AS ended_at
  FROM swept
  GROUP BY place, room
)
SELECT
  definition,
  cluster,
  scope,
  COALESCE(entered, begun) AS from_position,
  COALESCE(departed, ended) AS ends,
  CASE WHEN entered IS NULL OR begun = entered THEN begun_at ELSE entered_at END AS from_time,
  CASE WHEN departed IS NULL OR ended = departed THEN ended_at ELSE departed_at END AS to_time
FROM rooms
JOIN parted
  ON rooms.place = parted.place
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
WHERE place IS NULL AND from_position IS NOT NULL
