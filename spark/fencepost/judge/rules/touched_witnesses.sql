-- pieces, stale -> of what a definition does not hold in a chapter that was judged, and how it fails.
SELECT DISTINCT cluster, definition, scope, witness, verdict, failed_conjunct
FROM (
  SELECT kind, cluster, definition, scope, witness, verdict, failed_conjunct
  FROM pieces
  UNION ALL
  SELECT kind, cluster, definition, scope, witness, verdict, failed_conjunct
  FROM stale
) AS judged
WHERE kind = 'failing'
