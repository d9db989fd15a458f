-- pieces, stale -> the definitions and scopes of which there are pieces in a chapter that was judged.
SELECT DISTINCT cluster, definition, scope
FROM (
  SELECT cluster, definition, scope
  FROM pieces
  UNION ALL
  SELECT cluster, definition, scope
  FROM stale
) AS judged
WHERE definition IS NOT NULL
