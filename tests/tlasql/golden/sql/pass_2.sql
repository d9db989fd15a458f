-- generated from tests/tlasql/fragment/Case.tla:1 by `tlasql compile`; do not edit
-- one pass for arithmetic, old_epochs_stay
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
    member_id AS m,
    epoch AS `epoch[m]`,
    LEAD(epoch) OVER successive AS `epoch'[m]`,
    '{}' AS evidence
  FROM silver.members
  WINDOW successive AS (PARTITION BY cluster, group_id, life, member_id ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `epoch'[m]` = `epoch[m]` AS unchanged_2,
    CASE (
        `epoch[m]` = 1 OR `epoch[m]` = 2 OR `epoch[m]` = 4
      )
      WHEN TRUE
      THEN TRY_ADD(CAST(TRY_SUBTRACT(CAST(0 AS BIGINT), TRY_MULTIPLY(CAST(2 AS BIGINT), `epoch[m]`)) AS BIGINT), 6) > 0
      WHEN FALSE
      THEN TRY_MULTIPLY(CAST(TRY_SUBTRACT(CAST(`epoch[m]` AS BIGINT), 1) AS BIGINT), 2) <= 4
      ELSE CASE
        WHEN (
          TRY_ADD(CAST(TRY_SUBTRACT(CAST(0 AS BIGINT), TRY_MULTIPLY(CAST(2 AS BIGINT), `epoch[m]`)) AS BIGINT), 6) > 0
        ) = (
          TRY_MULTIPLY(CAST(TRY_SUBTRACT(CAST(`epoch[m]` AS BIGINT), 1) AS BIGINT), 2) <= 4
        )
        THEN TRY_ADD(CAST(TRY_SUBTRACT(CAST(0 AS BIGINT), TRY_MULTIPLY(CAST(2 AS BIGINT), `epoch[m]`)) AS BIGINT), 6) > 0
      END
    END AS c1_1,
    `epoch[m]` > 2 AS antecedent_2,
    `epoch'[m]` >= `epoch[m]` AS c1_2
  FROM frame
), weighed AS (
  SELECT
    *,
    c1_1 AS verdict_1,
    unchanged_2 OR (
      NOT antecedent_2 OR c1_2
    ) AS verdict_2
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
          'arithmetic',
          'witness',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END,
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
            THEN CASE
              WHEN NOT c1_1
              THEN 'IF epoch[m] \\in {1, 2, 4} THEN -Twice(epoch[m]) + 6 > 0 ELSE (epoch[m] - 1) * 2 <= 4 (Case:34)'
            END
          END,
          'values',
          CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN TO_JSON(STRUCT(`epoch[m]`), MAP('ignoreNullFields', 'false'))
          END,
          'evidence',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END
        ),
        CASE
          WHEN next_from_position = to_position
          THEN NAMED_STRUCT(
            'definition',
            'old_epochs_stay',
            'witness',
            CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END,
            'from_position',
            next_from_position,
            'to_position',
            next_to_position,
            'from_time',
            next_from_time,
            'to_time',
            next_to_time,
            'verdict',
            verdict_2,
            'exercised',
            COALESCE(antecedent_2 AND NOT unchanged_2, FALSE),
            'failed_conjunct',
            CASE
              WHEN NOT verdict_2
              THEN CASE WHEN antecedent_2 AND NOT c1_2 THEN 'epoch\'[m] >= epoch[m] (Case:58)' END
            END,
            'values',
            CASE
              WHEN NOT COALESCE(verdict_2, FALSE)
              THEN TO_JSON(STRUCT(`epoch[m]`, `epoch'[m]`), MAP('ignoreNullFields', 'false'))
            END,
            'evidence',
            CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END
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
        NAMED_STRUCT('definition', 'arithmetic', 'to_position', to_position),
        NAMED_STRUCT('definition', 'old_epochs_stay', 'to_position', to_position + 1)
      )
    ) AS each
  FROM silver.coverage
  WHERE
    NOT COALESCE(covered, FALSE)
) AS fanned
