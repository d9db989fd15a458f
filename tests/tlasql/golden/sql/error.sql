-- generated from Error in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Error(r) == CASE ~r.ok -> "FENCED" [] r.epoch > 1 -> "STALE" [] OTHER -> "NONE"
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
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    part_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    part_id
)
SELECT
  cluster,
  part_id AS subject,
  CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason END, 'not_known')
  END AS reason
FROM silver.requests AS requests
FULL OUTER JOIN agreed
  USING (cluster, part_id)
