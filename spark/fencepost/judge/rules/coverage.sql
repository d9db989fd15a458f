-- counts, reasons, definitions, clusters, windows, unread -> the rows of verdicts.coverage: every definition for every
-- configured cluster, so that what has no row at all is reported as well. What nothing exercised never counts as holding,
-- not even in part. Evidence that is missing may be all that shows a violation, so while some of it is, nothing that rests
-- on it counts as holding throughout.
SELECT
  definitions.module,
  definitions.definition AS invariant,
  definitions.kind,
  definitions.severity,
  clusters.cluster,
  COALESCE(counts.scopes, 0) AS scopes,
  COALESCE(counts.checked, 0) AS checked,
  COALESCE(counts.exercised, 0) AS exercised,
  COALESCE(counts.holds, 0) AS holds,
  COALESCE(counts.violated, 0) AS violated,
  COALESCE(counts.unknown, 0) AS unknown,
  COALESCE(unread.entries, 0) AS unread,
  CASE
    WHEN counts.violated > 0 THEN 'violated'
    WHEN counts.holds > 0 AND (counts.unknown > 0 OR unread.entries > 0) THEN 'holds_partly'
    WHEN counts.holds > 0 THEN 'holds'
    WHEN counts.unknown > 0 THEN 'unknown'
    ELSE 'not_exercised'
  END AS status,
  CASE
    WHEN counts.violated > 0 THEN CAST(NULL AS STRING)
    WHEN counts.unknown > 0 THEN foremost.reason
    WHEN counts.holds > 0 AND unread.entries > 0 THEN 'unread'
  END AS reason,
  windows.since
FROM definitions
CROSS JOIN clusters
LEFT JOIN counts
  ON definitions.definition = counts.definition
  AND clusters.cluster = counts.cluster
LEFT JOIN (
  SELECT
    invariant,
    cluster,
    reason,
    ROW_NUMBER() OVER (PARTITION BY invariant, cluster ORDER BY unknown DESC, reason) AS place
  FROM reasons
) AS foremost
  ON definitions.definition = foremost.invariant
  AND clusters.cluster = foremost.cluster
  AND foremost.place = 1
LEFT JOIN windows
  ON clusters.cluster = windows.cluster
LEFT JOIN unread
  ON definitions.module = unread.module
  AND clusters.cluster = unread.cluster
WHERE definitions.kind <> 'decision'
