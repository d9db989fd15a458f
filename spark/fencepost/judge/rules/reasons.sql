-- gathered, sides, definitions, counted_reasons -> the rows of verdicts.unknown_reasons: what was counted before, less what was
-- so, and what is.
SELECT
  definitions.module,
  definitions.definition AS invariant,
  weighed.cluster,
  weighed.reason,
  CAST(SUM(weighed.unknown) AS BIGINT) AS unknown
FROM (
  SELECT gathered.definition, sides.cluster, gathered.reason, sides.sign AS unknown
  FROM gathered
  JOIN sides
    ON gathered.cluster = sides.place
  WHERE gathered.kind = 'failing' AND gathered.verdict = 'unknown'
  UNION ALL
  SELECT invariant, cluster, reason, unknown
  FROM counted_reasons
) AS weighed
JOIN definitions
  ON weighed.definition = definitions.definition
GROUP BY definitions.module, definitions.definition, weighed.cluster, weighed.reason
HAVING SUM(weighed.unknown) <> 0
