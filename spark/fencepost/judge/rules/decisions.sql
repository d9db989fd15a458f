-- decided, definitions, places -> the rows of verdicts.decisions.
SELECT
  definitions.module,
  decided.definition AS decision,
  COALESCE(places.cluster, decided.cluster) AS cluster,
  decided.subject,
  decided.outcome,
  decided.reason,
  places.chapter
FROM decided
JOIN definitions
  ON decided.definition = definitions.definition
LEFT JOIN places
  ON decided.cluster = places.place
