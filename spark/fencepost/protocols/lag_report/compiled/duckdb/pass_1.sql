-- generated from spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
-- one pass for proposed_total_lag, shipped_total_lag
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
    reported AS "r.reported",
    offset_sum AS "r.offsetSum",
    logged_stores AS "r.loggedStores",
    end_offset_sum AS "r.endOffsetSum",
    non_logged_stores AS "r.nonLoggedStores"
  FROM silver.lag_reports
), judged AS (
  SELECT
    *,
    LIST_EXTRACT(
      LIST_TRANSFORM(
        [
          CASE (
              "r.loggedStores" > 0
            )
            WHEN TRUE
            THEN CASE (
                "r.offsetSum" > "r.endOffsetSum"
              )
              WHEN TRUE
              THEN "r.endOffsetSum"
              WHEN FALSE
              THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
              ELSE CASE
                WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                THEN "r.endOffsetSum"
              END
            END
            WHEN FALSE
            THEN CASE (
                "r.nonLoggedStores" > 0
              )
              WHEN TRUE
              THEN 0
              WHEN FALSE
              THEN -1
              ELSE CASE WHEN 0 = -1 THEN 0 END
            END
            ELSE CASE
              WHEN CASE (
                  "r.offsetSum" > "r.endOffsetSum"
                )
                WHEN TRUE
                THEN "r.endOffsetSum"
                WHEN FALSE
                THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                ELSE CASE
                  WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                  THEN "r.endOffsetSum"
                END
              END = CASE (
                  "r.nonLoggedStores" > 0
                )
                WHEN TRUE
                THEN 0
                WHEN FALSE
                THEN -1
                ELSE CASE WHEN 0 = -1 THEN 0 END
              END
              THEN CASE (
                  "r.offsetSum" > "r.endOffsetSum"
                )
                WHEN TRUE
                THEN "r.endOffsetSum"
                WHEN FALSE
                THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                ELSE CASE
                  WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                  THEN "r.endOffsetSum"
                END
              END
            END
          END
        ],
        LAMBDA other_2 : CASE (
            "r.reported" AND "r.offsetSum" < 0
          )
          WHEN TRUE
          THEN "r.offsetSum"
          WHEN FALSE
          THEN other_2
          ELSE CASE WHEN "r.offsetSum" = other_2 THEN "r.offsetSum" END
        END
      ),
      1
    ) AS c1_1,
    CASE (
        "r.reported" AND "r.offsetSum" < 0
      )
      WHEN TRUE
      THEN "r.offsetSum"
      WHEN FALSE
      THEN CASE (
          "r.loggedStores" > 0
        )
        WHEN TRUE
        THEN CASE (
            "r.offsetSum" > "r.endOffsetSum"
          )
          WHEN TRUE
          THEN "r.endOffsetSum"
          WHEN FALSE
          THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
          ELSE CASE
            WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
            THEN "r.endOffsetSum"
          END
        END
        WHEN FALSE
        THEN -1
        ELSE CASE
          WHEN CASE (
              "r.offsetSum" > "r.endOffsetSum"
            )
            WHEN TRUE
            THEN "r.endOffsetSum"
            WHEN FALSE
            THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
            ELSE CASE
              WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
              THEN "r.endOffsetSum"
            END
          END = -1
          THEN CASE (
              "r.offsetSum" > "r.endOffsetSum"
            )
            WHEN TRUE
            THEN "r.endOffsetSum"
            WHEN FALSE
            THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
            ELSE CASE
              WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
              THEN "r.endOffsetSum"
            END
          END
        END
      END
      ELSE CASE
        WHEN "r.offsetSum" = CASE (
            "r.loggedStores" > 0
          )
          WHEN TRUE
          THEN CASE (
              "r.offsetSum" > "r.endOffsetSum"
            )
            WHEN TRUE
            THEN "r.endOffsetSum"
            WHEN FALSE
            THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
            ELSE CASE
              WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
              THEN "r.endOffsetSum"
            END
          END
          WHEN FALSE
          THEN -1
          ELSE CASE
            WHEN CASE (
                "r.offsetSum" > "r.endOffsetSum"
              )
              WHEN TRUE
              THEN "r.endOffsetSum"
              WHEN FALSE
              THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
              ELSE CASE
                WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                THEN "r.endOffsetSum"
              END
            END = -1
            THEN CASE (
                "r.offsetSum" > "r.endOffsetSum"
              )
              WHEN TRUE
              THEN "r.endOffsetSum"
              WHEN FALSE
              THEN TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
              ELSE CASE
                WHEN "r.endOffsetSum" = TRY(CAST("r.endOffsetSum" AS BIGINT) - "r.offsetSum")
                THEN "r.endOffsetSum"
              END
            END
          END
        END
        THEN "r.offsetSum"
      END
    END AS c1_2
  FROM frame
), agreed AS (
  SELECT
    cluster,
    lag_report_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    MIN(
      CASE
        WHEN c1_1 IS NULL
        THEN CASE
          WHEN "r.reported" IS NULL
          OR "r.offsetSum" IS NULL
          OR "r.loggedStores" IS NULL
          OR "r.endOffsetSum" IS NULL
          OR "r.nonLoggedStores" IS NULL
          THEN 'not_captured'
        END
      END
    ) AS reason_1,
    MIN(
      CASE
        WHEN c1_2 IS NULL
        THEN CASE
          WHEN "r.reported" IS NULL OR "r.offsetSum" IS NULL OR "r.loggedStores" IS NULL OR "r.endOffsetSum" IS NULL
          THEN 'not_captured'
        END
      END
    ) AS reason_2
  FROM judged
  GROUP BY
    cluster,
    lag_report_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  subject,
  STRUCT_EXTRACT(each, 'outcome') AS outcome,
  STRUCT_EXTRACT(each, 'reason') AS reason
FROM (
  SELECT
    cluster,
    subject,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      lag_report_id AS subject,
      [
        {'definition': 'proposed_total_lag', 'outcome': agreed.verdict_1, 'reason': CASE
          WHEN agreed.verdict_1 IS NULL
          THEN COALESCE(agreed.reason_1, lag_reports.sum_unknown, 'not_captured')
        END},
        {'definition': 'shipped_total_lag', 'outcome': agreed.verdict_2, 'reason': CASE
          WHEN agreed.verdict_2 IS NULL
          THEN COALESCE(agreed.reason_2, lag_reports.sum_unknown, 'not_captured')
        END}
      ] AS rows_
    FROM silver.lag_reports AS lag_reports
    FULL OUTER JOIN agreed
      USING (cluster, lag_report_id)
  ) AS judged_together
) AS fanned
