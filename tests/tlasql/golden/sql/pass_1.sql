-- generated from tests/tlasql/fragment/Case.tla:1 by `tlasql compile`; do not edit
-- one pass for scalars, level_never_falls, level_grows_by_one
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    level,
    LEAD(level) OVER successive AS `level'`,
    TO_JSON(STRUCT(file, from_time), MAP('ignoreNullFields', 'false')) AS evidence
  FROM silver.groups
  WINDOW successive AS (PARTITION BY cluster, group_id, life ORDER BY from_position)
), seen AS (
  SELECT
    frame.*,
    frame.next_from_position <> frame.to_position AS gap,
    NOT coverage.from_position IS NULL AS parted
  FROM frame
  LEFT JOIN silver.coverage AS coverage
    ON frame.cluster = coverage.cluster
    AND frame.group_id = coverage.group_id
    AND frame.life = coverage.life
    AND NOT COALESCE(coverage.covered, FALSE)
    AND coverage.from_position <= frame.to_position
    AND (
      coverage.to_position IS NULL OR frame.to_position < coverage.to_position
    )
), judged AS (
  SELECT
    *,
    `level'` = level AS unchanged_2,
    `level'` = level AS unchanged_3,
    level >= 2 AS c1_1,
    NOT level = 4 AS c2_1,
    `level'` >= level AS c1_2,
    `level'` = TRY_ADD(CAST(level AS BIGINT), 1) AS c1_3
  FROM seen
), weighed AS (
  SELECT
    *,
    c1_1 AND c2_1 AS verdict_1,
    CASE WHEN gap THEN CASE WHEN NOT c1_2 THEN FALSE END ELSE unchanged_2 OR c1_2 END AS verdict_2,
    unchanged_3 OR c1_3 AS verdict_3
  FROM judged
)
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  each.`witness` AS witness,
  each.`from_position` AS from_position,
  each.`to_position` AS to_position,
  each.`from_time` AS from_time,
  each.`to_time` AS to_time,
  each.`verdict` AS verdict,
  each.`exercised` AS exercised,
  each.`failed_conjunct` AS failed_conjunct,
  each.`values` AS `values`,
  each.`evidence` AS evidence
FROM (
  SELECT
    cluster,
    TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'scalars',
          'witness',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN '{}' END,
          'from_position',
          from_position,
          'to_position',
          to_position,
          'from_time',
          from_time,
          'to_time',
          to_time,
          'verdict',
          verdict_1,
          'exercised',
          TRUE,
          'failed_conjunct',
          CASE
            WHEN NOT verdict_1
            THEN CASE WHEN NOT c1_1 THEN 'level >= 2 (Case:17)' WHEN NOT c2_1 THEN 'level # 4 (Case:17)' END
          END,
          'values',
          CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN TO_JSON(STRUCT(level), MAP('ignoreNullFields', 'false'))
          END,
          'evidence',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END
        ),
        CASE
          WHEN next_from_position = to_position OR (
            NOT next_from_position IS NULL AND parted
          )
          THEN NAMED_STRUCT(
            'definition',
            'level_never_falls',
            'witness',
            CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN '{}' END,
            'from_position',
            to_position,
            'to_position',
            next_to_position,
            'from_time',
            COALESCE(CASE WHEN NOT gap THEN next_from_time END, to_time),
            'to_time',
            next_to_time,
            'verdict',
            verdict_2,
            'exercised',
            COALESCE(NOT unchanged_2, FALSE),
            'failed_conjunct',
            CASE WHEN NOT verdict_2 THEN CASE WHEN NOT c1_2 THEN 'level\' >= level (Case:51)' END END,
            'values',
            CASE
              WHEN NOT COALESCE(verdict_2, FALSE)
              THEN TO_JSON(STRUCT(level, `level'`), MAP('ignoreNullFields', 'false'))
            END,
            'evidence',
            CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END
          )
        END,
        CASE
          WHEN next_from_position = to_position
          THEN NAMED_STRUCT(
            'definition',
            'level_grows_by_one',
            'witness',
            CASE WHEN NOT COALESCE(verdict_3, FALSE) THEN '{}' END,
            'from_position',
            next_from_position,
            'to_position',
            next_to_position,
            'from_time',
            next_from_time,
            'to_time',
            next_to_time,
            'verdict',
            verdict_3,
            'exercised',
            COALESCE(NOT unchanged_3, FALSE),
            'failed_conjunct',
            CASE WHEN NOT verdict_3 THEN CASE WHEN NOT c1_3 THEN 'level\' = level + 1 (Case:55)' END END,
            'values',
            CASE
              WHEN NOT COALESCE(verdict_3, FALSE)
              THEN TO_JSON(STRUCT(level, `level'`), MAP('ignoreNullFields', 'false'))
            END,
            'evidence',
            CASE WHEN NOT COALESCE(verdict_3, FALSE) THEN evidence END
          )
        END
      )
    ) AS each
  FROM weighed
) AS fanned
WHERE
  NOT each IS NULL
UNION ALL
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  witness,
  from_position,
  each.`to_position` AS to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  `values`,
  evidence
FROM (
  SELECT
    cluster,
    TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
    CAST(NULL AS STRING) AS witness,
    from_position,
    from_time,
    to_time,
    CAST(NULL AS BOOLEAN) AS verdict,
    FALSE AS exercised,
    CAST(NULL AS STRING) AS failed_conjunct,
    CAST(NULL AS STRING) AS `values`,
    CAST(NULL AS STRING) AS evidence,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT('definition', 'scalars', 'to_position', to_position),
        NAMED_STRUCT('definition', 'level_never_falls', 'to_position', to_position + 1),
        NAMED_STRUCT('definition', 'level_grows_by_one', 'to_position', to_position + 1)
      )
    ) AS each
  FROM silver.coverage
  WHERE
    NOT COALESCE(covered, FALSE)
) AS fanned
