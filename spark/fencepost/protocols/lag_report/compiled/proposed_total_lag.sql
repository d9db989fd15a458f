-- generated from ProposedTotalLag in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
--
-- ProposedTotalLag(r) ==
--     IF IsSentinel(r) THEN r.offsetSum
--     ELSE IF r.loggedStores > 0 THEN LagOfSum(r)
--     ELSE IF r.nonLoggedStores > 0 THEN 0
--     ELSE -1
WITH frame AS (
  SELECT
    cluster,
    application_id,
    log,
    lag_report_id,
    from_position,
    to_position,
    from_time,
    to_time,
    reported AS `r.reported`,
    offset_sum AS `r.offsetSum`,
    logged_stores AS `r.loggedStores`,
    end_offset_sum AS `r.endOffsetSum`,
    non_logged_stores AS `r.nonLoggedStores`
  FROM silver.lag_reports
), judged AS (
  SELECT
    *,
    TRY_ELEMENT_AT(
      TRANSFORM(
        ARRAY(
          CASE (
              `r.loggedStores` > 0
            )
            WHEN TRUE
            THEN CASE (
                `r.offsetSum` > `r.endOffsetSum`
              )
              WHEN TRUE
              THEN `r.endOffsetSum`
              WHEN FALSE
              THEN TRY_SUBTRACT(CAST(`r.endOffsetSum` AS BIGINT), `r.offsetSum`)
              ELSE CASE
                WHEN `r.endOffsetSum` = TRY_SUBTRACT(CAST(`r.endOffsetSum` AS BIGINT), `r.offsetSum`)
                THEN `r.endOffsetSum`
              END
            END
            WHEN FALSE
            THEN CASE (
                `r.nonLoggedStores` > 0
              )
              WHEN TRUE
              THEN 0
              WHEN FALSE
              THEN -1
              ELSE CASE WHEN 0 = -1 THEN 0 END
            END
            ELSE CASE
              WHEN CASE (
                  `r.offsetSum` > `r.endOffsetSum`
                )
                WHEN TRUE
                THEN `r.endOffsetSum`
                WHEN FALSE
                THEN TRY_SUBTRACT(CAST(`r.endOffsetSum` AS BIGINT), `r.offsetSum`)
                ELSE CASE
                  WHEN `r.endOffsetSum` = TRY_SUBTRACT(CAST(`r.endOffsetSum` AS BIGINT), `r.offsetSum`)
                  THEN `r.endOffsetSum`
                END
              END = CASE (
                  `r.nonLoggedStores` > 0
                )
                WHEN TRUE
                THEN 0
                WHEN FALSE
                THEN -1
                ELSE CASE WHEN 0 = -1 THEN 0 END
              END
              THEN CASE (
                  `r.offsetSum` > `r.endOffsetSum`
                )
                WHEN TRUE
                THEN `r.endOffsetSum`
                WHEN FALSE
                THEN TRY_SUBTRACT(CAST(`r.endOffsetSum` AS BIGINT), `r.offsetSum`)
                ELSE CASE
                  WHEN `r.endOffsetSum` = TRY_SUBTRACT(CAST(`r.endOffsetSum` AS BIGINT), `r.offsetSum`)
                  THEN `r.endOffsetSum`
                END
              END
            END
          END
        ),
        other_2 -> CASE (
            `r.reported` AND `r.offsetSum` < 0
          )
          WHEN TRUE
          THEN `r.offsetSum`
          WHEN FALSE
          THEN other_2
          ELSE CASE WHEN `r.offsetSum` = other_2 THEN `r.offsetSum` END
        END
      ),
      1
    ) AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    lag_report_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    MIN(
      CASE
        WHEN c1 IS NULL
        THEN CASE
          WHEN `r.reported` IS NULL
          OR `r.offsetSum` IS NULL
          OR `r.loggedStores` IS NULL
          OR `r.endOffsetSum` IS NULL
          OR `r.nonLoggedStores` IS NULL
          THEN 'not_captured'
        END
      END
    ) AS reason
  FROM judged
  GROUP BY
    cluster,
    lag_report_id
)
SELECT
  cluster,
  lag_report_id AS subject,
  agreed.verdict AS outcome,
  CASE
    WHEN agreed.verdict IS NULL
    THEN COALESCE(agreed.reason, lag_reports.sum_unknown, 'not_captured')
  END AS reason
FROM silver.lag_reports AS lag_reports
FULL OUTER JOIN agreed
  USING (cluster, lag_report_id)
