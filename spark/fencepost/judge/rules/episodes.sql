-- unmet, met, scopes, sides, chapters, definitions -> the rows of verdicts.episodes, and the sign of their side. An id is made
-- of what the evidence says and nothing else: no severity (a setting), no time (witness and position tell episodes apart:
-- what has no position has its own identity in the witness).
WITH found AS (
  SELECT
    definition,
    cluster,
    scope,
    witness,
    from_position,
    ends,
    from_time,
    to_time,
    verdict,
    failed_conjunct,
    reason,
    unmet.observed,
    evidence,
    chapter
  FROM unmet
  UNION ALL
  SELECT
    met.definition,
    met.cluster,
    met.scope,
    CAST(NULL AS STRING),
    met.from_position,
    met.ends,
    met.from_time,
    met.to_time,
    'holds',
    CAST(NULL AS STRING),
    CAST(NULL AS STRING),
    CAST(NULL AS STRING),
    CAST(NULL AS STRING),
    -- it may end, or go on, where nothing of its scope was judged
    LEAST(scopes.chapter, COALESCE(chapters.chapter, scopes.chapter))
  FROM met
  JOIN scopes
    ON met.definition = scopes.definition
    AND met.cluster = scopes.cluster
    AND met.scope = scopes.scope
  LEFT JOIN chapters
    ON met.cluster = chapters.place
    AND met.ends < 9223372036854775807
    AND met.to_time >= chapters.begins
    AND (chapters.until IS NULL OR met.to_time < chapters.until)
)
SELECT
  LEFT(
    SHA2(
      CONCAT_WS(
        '|',
        definitions.module,
        found.definition,
        sides.cluster,
        found.scope,
        COALESCE(found.witness, ''),
        found.verdict,
        COALESCE(CAST(found.from_position AS STRING), ''),
        COALESCE(found.failed_conjunct, '')
      ),
      256
    ),
    16
  ) AS verdict_id,
  definitions.module,
  found.definition AS invariant,
  definitions.kind,
  definitions.severity,
  sides.cluster,
  found.scope,
  found.witness,
  found.from_position,
  CASE WHEN found.ends < 9223372036854775807 THEN found.ends END AS to_position,
  found.from_time,
  -- what is still so has no end yet; what has no position has its own times all the same
  CASE WHEN found.ends < 9223372036854775807 OR found.from_position IS NULL THEN found.to_time END AS to_time,
  found.verdict,
  found.failed_conjunct,
  found.reason,
  found.observed,
  found.evidence,
  found.chapter,
  sides.sign
FROM found
JOIN definitions
  ON found.definition = definitions.definition
JOIN sides
  ON found.cluster = sides.place
