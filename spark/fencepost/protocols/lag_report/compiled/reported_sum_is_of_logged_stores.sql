-- generated from ReportedSumIsOfLoggedStores in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
--
-- ReportedSumIsOfLoggedStores ==
--     \A r \in lagReports : r.reported /\ r.offsetSum >= 0 /\ r.loggedStores > 0 => r.offsetSum = r.loggedOffsetSum
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
    logged_offset_sum AS `r.loggedOffsetSum`
  FROM silver.lag_reports
), judged AS (
  SELECT
    *,
    (
      `r.reported` AND `r.offsetSum` >= 0
    ) AND `r.loggedStores` > 0 AS antecedent,
    `r.offsetSum` = `r.loggedOffsetSum` AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    application_id,
    log,
    lag_report_id,
    from_position,
    to_position,
    from_time,
    to_time,
    `r.reported`,
    `r.offsetSum`,
    `r.loggedStores`,
    `r.loggedOffsetSum`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'r.offsetSum = r.loggedOffsetSum' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    lag_report_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      NAMED_STRUCT(
        'application_id',
        application_id,
        'log',
        log,
        'failed_conjunct',
        failed_conjunct,
        'r.reported',
        `r.reported`,
        'r.offsetSum',
        `r.offsetSum`,
        'r.loggedStores',
        `r.loggedStores`,
        'r.loggedOffsetSum',
        `r.loggedOffsetSum`
      )
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    MIN(
      CASE
        WHEN verdict IS NULL
        THEN CASE
          WHEN `r.reported` IS NULL OR `r.offsetSum` IS NULL OR `r.loggedStores` IS NULL
          THEN 'not_captured'
        END
      END
    ) AS reason
  FROM weighed
  GROUP BY
    cluster,
    lag_report_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`application_id`, lag_reports.application_id) AS application_id,
      COALESCE(agreed.first_state.`log`, lag_reports.log) AS log
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(lag_report_id AS r), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, lag_reports.reported_at) AS from_time,
  COALESCE(agreed.to_time, lag_reports.assigned_at) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE
    WHEN agreed.verdict IS NULL
    THEN COALESCE(agreed.reason, lag_reports.sum_unknown, 'not_captured')
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`r.reported` AS `r.reported`,
        agreed.first_state.`r.offsetSum` AS `r.offsetSum`,
        agreed.first_state.`r.loggedStores` AS `r.loggedStores`,
        agreed.first_state.`r.loggedOffsetSum` AS `r.loggedOffsetSum`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        lag_reports.instance,
        lag_reports.process_id,
        lag_reports.member_id,
        lag_reports.client_id,
        lag_reports.client_host,
        lag_reports.generation,
        lag_reports.task_id,
        lag_reports.kind,
        lag_reports.assigned_to,
        lag_reports.request_id,
        lag_reports.file,
        lag_reports.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.lag_reports AS lag_reports
FULL OUTER JOIN agreed
  USING (cluster, lag_report_id)
