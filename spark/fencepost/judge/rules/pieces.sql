-- scopes, met, unmet (rows of failing), places -> the rows of verdicts.pieces for what was judged.
SELECT
  COALESCE(places.cluster, scopes.cluster) AS cluster,
  places.chapter,
  'scope' AS kind,
  scopes.definition,
  scopes.scope,
  CAST(NULL AS STRING) AS witness,
  CAST(NULL AS STRING) AS verdict,
  CAST(NULL AS STRING) AS failed_conjunct,
  CAST(NULL AS STRING) AS reason,
  CAST(NULL AS BIGINT) AS begins,
  CAST(NULL AS BIGINT) AS ends,
  CAST(NULL AS BIGINT) AS from_position,
  CAST(NULL AS TIMESTAMP) AS from_time,
  CAST(NULL AS TIMESTAMP) AS to_time,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence,
  scopes.checked,
  scopes.exercised,
  scopes.holds,
  scopes.violated,
  scopes.unknown
FROM scopes
LEFT JOIN places
  ON scopes.cluster = places.place
UNION ALL
SELECT
  COALESCE(places.cluster, met.cluster) AS cluster,
  places.chapter,
  'held' AS kind,
  met.definition,
  met.scope,
  CAST(NULL AS STRING) AS witness,
  CAST(NULL AS STRING) AS verdict,
  CAST(NULL AS STRING) AS failed_conjunct,
  CAST(NULL AS STRING) AS reason,
  met.from_position AS begins,
  met.ends,
  met.from_position,
  met.from_time,
  met.to_time,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence,
  CAST(NULL AS BIGINT) AS checked,
  CAST(NULL AS BIGINT) AS exercised,
  CAST(NULL AS BIGINT) AS holds,
  CAST(NULL AS BIGINT) AS violated,
  CAST(NULL AS BIGINT) AS unknown
FROM met
LEFT JOIN places
  ON met.cluster = places.place
UNION ALL
SELECT
  COALESCE(places.cluster, unmet.cluster) AS cluster,
  places.chapter,
  'failing' AS kind,
  unmet.definition,
  unmet.scope,
  unmet.witness,
  unmet.verdict,
  unmet.failed_conjunct,
  unmet.reason,
  unmet.begins,
  unmet.ends,
  unmet.from_position,
  unmet.from_time,
  unmet.to_time,
  unmet.observed,
  unmet.evidence,
  CAST(NULL AS BIGINT) AS checked,
  CAST(NULL AS BIGINT) AS exercised,
  CAST(NULL AS BIGINT) AS holds,
  CAST(NULL AS BIGINT) AS violated,
  CAST(NULL AS BIGINT) AS unknown
FROM unmet
LEFT JOIN places
  ON unmet.cluster = places.place
