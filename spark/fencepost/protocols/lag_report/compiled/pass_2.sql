-- generated from spec/lag_report/LagReportProps.tla:1 by `tlasql compile`; do not edit
-- one pass for reported_sum_is_of_logged_stores, zero_is_the_identity
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
    logged_offset_sum AS `r.loggedOffsetSum`,
    non_logged_stores AS `r.nonLoggedStores`
  FROM silver.lag_reports
), judged AS (
  SELECT
    *,
    (
      `r.reported` AND `r.offsetSum` >= 0
    ) AND `r.loggedStores` > 0 AS antecedent_1,
    `r.offsetSum` = `r.loggedOffsetSum` AS c1_1,
    (
      `r.reported` AND `r.offsetSum` >= 0
    ) AND `r.nonLoggedStores` > 0 AS antecedent_2,
    `r.offsetSum` = `r.loggedOffsetSum` AS c1_2
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
    `r.nonLoggedStores`,
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN 'r.offsetSum = r.loggedOffsetSum (LagReportProps:76)' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'r.offsetSum = r.loggedOffsetSum (LagReportProps:89)' END AS failed_conjunct_2
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
        'failed_conjunct_1',
        failed_conjunct_1,
        'failed_conjunct_2',
        failed_conjunct_2,
        'r.reported',
        `r.reported`,
        'r.offsetSum',
        `r.offsetSum`,
        'r.loggedStores',
        `r.loggedStores`,
        'r.loggedOffsetSum',
        `r.loggedOffsetSum`,
        'r.nonLoggedStores',
        `r.nonLoggedStores`
      )
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2
  FROM weighed
  GROUP BY
    cluster,
    lag_report_id
)
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(each.`verdict`, FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  each.`verdict` AS verdict,
  each.`exercised` AS exercised,
  each.`failed_conjunct` AS failed_conjunct,
  each.`reason` AS reason,
  each.`values` AS `values`,
  CASE WHEN NOT COALESCE(each.`verdict`, FALSE) THEN evidence END AS evidence
FROM (
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
        COALESCE(agreed.verdict_1, FALSE) AND COALESCE(agreed.verdict_2, FALSE)
      )
      THEN TO_JSON(STRUCT(lag_report_id AS r), MAP('ignoreNullFields', 'false'))
    END AS witness,
    agreed.from_position,
    agreed.to_position,
    COALESCE(agreed.from_time, lag_reports.reported_at) AS from_time,
    COALESCE(agreed.to_time, lag_reports.assigned_at) AS to_time,
    CASE
      WHEN NOT (
        COALESCE(agreed.verdict_1, FALSE) AND COALESCE(agreed.verdict_2, FALSE)
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
    END AS evidence,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'reported_sum_is_of_logged_stores',
          'verdict',
          agreed.verdict_1,
          'exercised',
          COALESCE(agreed.exercised_1, FALSE),
          'failed_conjunct',
          CASE WHEN NOT agreed.verdict_1 THEN agreed.first_state.`failed_conjunct_1` END,
          'reason',
          CASE WHEN agreed.verdict_1 IS NULL THEN 'not_captured' END,
          'values',
          CASE
            WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_1, FALSE)
            THEN TO_JSON(
              STRUCT(
                agreed.first_state.`r.reported` AS `r.reported`,
                agreed.first_state.`r.offsetSum` AS `r.offsetSum`,
                agreed.first_state.`r.loggedStores` AS `r.loggedStores`,
                agreed.first_state.`r.loggedOffsetSum` AS `r.loggedOffsetSum`
              ),
              MAP('ignoreNullFields', 'false')
            )
          END
        ),
        NAMED_STRUCT(
          'definition',
          'zero_is_the_identity',
          'verdict',
          agreed.verdict_2,
          'exercised',
          COALESCE(agreed.exercised_2, FALSE),
          'failed_conjunct',
          CASE WHEN NOT agreed.verdict_2 THEN agreed.first_state.`failed_conjunct_2` END,
          'reason',
          CASE WHEN agreed.verdict_2 IS NULL THEN 'not_captured' END,
          'values',
          CASE
            WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_2, FALSE)
            THEN TO_JSON(
              STRUCT(
                agreed.first_state.`r.reported` AS `r.reported`,
                agreed.first_state.`r.offsetSum` AS `r.offsetSum`,
                agreed.first_state.`r.nonLoggedStores` AS `r.nonLoggedStores`,
                agreed.first_state.`r.loggedOffsetSum` AS `r.loggedOffsetSum`
              ),
              MAP('ignoreNullFields', 'false')
            )
          END
        )
      )
    ) AS each
  FROM silver.lag_reports AS lag_reports
  FULL OUTER JOIN agreed
    USING (cluster, lag_report_id)
) AS fanned
