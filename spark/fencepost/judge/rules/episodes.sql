-- unmet, met, definitions -> the rows of verdicts.episodes. An id is made of what the evidence says and nothing else:
-- no severity (a setting), no line of the specification (the conjunct's own text stands for it), no time (witness and
-- position tell episodes apart: what has no position has its own identity in the witness).
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
    unmet.values,
    evidence
  FROM unmet
  UNION ALL
  SELECT
    definition,
    cluster,
    scope,
    CAST(NULL AS STRING),
    from_position,
    ends,
    from_time,
    to_time,
    'holds',
    CAST(NULL AS STRING),
    CAST(NULL AS STRING),
    CAST(NULL AS STRING)
  FROM met
)
SELECT
  LEFT(
    SHA2(
      CONCAT_WS(
        '|',
        definitions.module,
        found.definition,
        found.cluster,
        found.scope,
        COALESCE(found.witness, ''),
        found.verdict,
        COALESCE(CAST(found.from_position AS STRING), ''),
        COALESCE(REGEXP_REPLACE(found.failed_conjunct, ' [(][^()]*:[0-9]+[)]$', ''), '')
      ),
      256
    ),
    16
  ) AS verdict_id,
  definitions.module,
  found.definition AS invariant,
  definitions.kind,
  definitions.severity,
  found.cluster,
  found.scope,
  found.witness,
  found.from_position,
  CASE WHEN found.ends < 9223372036854775807 THEN found.ends END AS to_position,
  found.from_time,
  -- what is still so has no end yet; what has no position has its own times all the same
  CASE WHEN found.ends < 9223372036854775807 OR found.from_position IS NULL THEN found.to_time END AS to_time,
  found.verdict,
  found.failed_conjunct,
  found.values,
  found.evidence
FROM found
JOIN definitions
  ON found.definition = definitions.definition
