-- places, ended -> the rows of verdicts.judged.
SELECT
  places.cluster,
  places.chapter,
  places.revision,
  places.since,
  MIN(ended.first_end) AS first_end,
  MAX(ended.last_end) AS last_end
FROM places
LEFT JOIN ended
  ON places.place = ended.place
WHERE places.chapter IS NOT NULL
GROUP BY places.cluster, places.chapter, places.revision, places.since
