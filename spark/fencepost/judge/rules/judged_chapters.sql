-- noted, ended -> the row of verdicts.pieces that says of a chapter what it was judged on, for each cluster.
SELECT
  noted.cluster,
  noted.chapter,
  'judged' AS kind,
  noted.revision,
  noted.since,
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
FROM noted
LEFT JOIN ended
  ON noted.cluster = ended.cluster
  AND noted.chapter = ended.chapter
GROUP BY noted.cluster, noted.chapter, noted.revision, noted.since
