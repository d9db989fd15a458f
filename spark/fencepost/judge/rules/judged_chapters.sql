-- places, ended -> the row of verdicts.pieces that says of each chapter what it was judged on.
SELECT
  places.cluster,
  places.chapter,
  'judged' AS kind,
  places.revision,
  places.since,
  CAST(NULL AS STRING) AS definition,
  CAST(NULL AS STRING) AS scope,
  CAST(NULL AS STRING) AS witness,
  CAST(NULL AS STRING) AS verdict,
  CAST(NULL AS STRING) AS failed_conjunct,
  CAST(NULL AS BIGINT) AS begins,
  CAST(NULL AS BIGINT) AS ends,
  CAST(NULL AS BIGINT) AS from_position,
  MIN(ended.first_end) AS from_time,
  MAX(ended.last_end) AS to_time,
  CAST(NULL AS STRING) AS values,
  CAST(NULL AS STRING) AS evidence,
  CAST(NULL AS BIGINT) AS checked,
  CAST(NULL AS BIGINT) AS exercised,
  CAST(NULL AS BIGINT) AS holds,
  CAST(NULL AS BIGINT) AS violated,
  CAST(NULL AS BIGINT) AS unknown
FROM places
LEFT JOIN ended
  ON places.place = ended.place
GROUP BY places.cluster, places.chapter, places.revision, places.since
