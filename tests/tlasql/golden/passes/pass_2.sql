-- generated from tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
-- one pass for error, older_error
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    part_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    ok AS `r.ok`,
    epoch AS `r.epoch`
  FROM silver.request_states
), judged AS (
  SELECT
    *,
    CASE (
        NOT `r.ok`
      )
      WHEN TRUE
      THEN 'FENCED'
      WHEN FALSE
      THEN CASE (
          `r.epoch` > 1
        )
        WHEN TRUE
        THEN 'STALE'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'STALE' = 'NONE' THEN 'STALE' END
      END
      ELSE CASE
        WHEN 'FENCED' = CASE (
            `r.epoch` > 1
          )
          WHEN TRUE
          THEN 'STALE'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'STALE' = 'NONE' THEN 'STALE' END
        END
        THEN 'FENCED'
      END
    END AS c1_1,
    CASE (
        `r.epoch` > 0
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN 'STALE'
      ELSE CASE WHEN 'NONE' = 'STALE' THEN 'NONE' END
    END AS c1_2
  FROM frame
), agreed AS (
  SELECT
    cluster,
    part_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE WHEN MIN(c1_1) < MAX(c1_1) THEN 'several_states' END AS reason_1,
    CASE WHEN MIN(c1_2) < MAX(c1_2) THEN 'several_states' END AS reason_2
  FROM judged
  GROUP BY
    cluster,
    part_id
)
SELECT
  each.`definition` AS definition,
  cluster,
  subject,
  each.`outcome` AS outcome,
  each.`reason` AS reason
FROM (
  SELECT
    cluster,
    subject,
    EXPLODE(rows_) AS each
  FROM (
    SELECT
      cluster,
      part_id AS subject,
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'error',
          'outcome',
          CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END,
          'reason',
          CASE
            WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END IS NULL
            THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason_1 END, 'not_known')
          END
        ),
        NAMED_STRUCT(
          'definition',
          'older_error',
          'outcome',
          CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END,
          'reason',
          CASE
            WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END IS NULL
            THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason_2 END, 'not_known')
          END
        )
      ) AS rows_
    FROM silver.requests AS requests
    FULL OUTER JOIN agreed
      USING (cluster, part_id)
  ) AS judged_together
) AS fanned
