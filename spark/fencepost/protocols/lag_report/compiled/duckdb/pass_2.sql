-- generated from spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
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
    reported AS "r.reported",
    offset_sum AS "r.offsetSum",
    logged_stores AS "r.loggedStores",
    logged_offset_sum AS "r.loggedOffsetSum",
    non_logged_stores AS "r.nonLoggedStores"
  FROM silver.lag_reports
), judged AS (
  SELECT
    *,
    (
      "r.reported" AND "r.offsetSum" >= 0
    ) AND "r.loggedStores" > 0 AS antecedent_1,
    "r.offsetSum" = "r.loggedOffsetSum" AS c1_1,
    (
      "r.reported" AND "r.offsetSum" >= 0
    ) AND "r.nonLoggedStores" > 0 AS antecedent_2,
    "r.offsetSum" = "r.loggedOffsetSum" AS c1_2
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
    "r.reported",
    "r.offsetSum",
    "r.loggedStores",
    "r.loggedOffsetSum",
    "r.nonLoggedStores",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN 'r.offsetSum = r.loggedOffsetSum' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'r.offsetSum = r.loggedOffsetSum' END AS failed_conjunct_2
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    lag_report_id
  FROM silver.lag_reports
  GROUP BY
    cluster,
    lag_report_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    lag_report_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'application_id': application_id, 'log': log, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'r.reported': "r.reported", 'r.offsetSum': "r.offsetSum", 'r.loggedStores': "r.loggedStores", 'r.loggedOffsetSum': "r.loggedOffsetSum", 'r.nonLoggedStores': "r.nonLoggedStores"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE
      WHEN verdict_1 IS NULL
      THEN CASE
        WHEN "r.reported" IS NULL OR "r.offsetSum" IS NULL OR "r.loggedStores" IS NULL
        THEN 'not_captured'
      END
    END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE
      WHEN verdict_2 IS NULL
      THEN CASE
        WHEN "r.reported" IS NULL OR "r.offsetSum" IS NULL OR "r.nonLoggedStores" IS NULL
        THEN 'not_captured'
      END
    END AS reason_2
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.lag_report_id IS NOT DISTINCT FROM weighed.lag_report_id
    )
  UNION ALL
  SELECT
    cluster,
    lag_report_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'application_id': application_id, 'log': log, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'r.reported': "r.reported", 'r.offsetSum': "r.offsetSum", 'r.loggedStores': "r.loggedStores", 'r.loggedOffsetSum': "r.loggedOffsetSum", 'r.nonLoggedStores': "r.nonLoggedStores"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    MIN(
      CASE
        WHEN verdict_1 IS NULL
        THEN CASE
          WHEN "r.reported" IS NULL OR "r.offsetSum" IS NULL OR "r.loggedStores" IS NULL
          THEN 'not_captured'
        END
      END
    ) AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    MIN(
      CASE
        WHEN verdict_2 IS NULL
        THEN CASE
          WHEN "r.reported" IS NULL OR "r.offsetSum" IS NULL OR "r.nonLoggedStores" IS NULL
          THEN 'not_captured'
        END
      END
    ) AS reason_2
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.lag_report_id IS NOT DISTINCT FROM weighed.lag_report_id
    )
  GROUP BY
    cluster,
    lag_report_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN evidence END AS evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT(
        'application_id',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'application_id'), lag_reports.application_id),
        'log',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), lag_reports.log)
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE) AND COALESCE(agreed.verdict_2, FALSE)
        )
        THEN CAST(JSON_OBJECT('r', lag_report_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, lag_reports.reported_at) AS from_time,
      COALESCE(agreed.to_time, lag_reports.assigned_at) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE) AND COALESCE(agreed.verdict_2, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'instance',
          lag_reports.instance,
          'process_id',
          lag_reports.process_id,
          'member_id',
          lag_reports.member_id,
          'client_id',
          lag_reports.client_id,
          'client_host',
          lag_reports.client_host,
          'generation',
          lag_reports.generation,
          'task_id',
          lag_reports.task_id,
          'kind',
          lag_reports.kind,
          'assigned_to',
          lag_reports.assigned_to,
          'request_id',
          lag_reports.request_id,
          'file',
          lag_reports.file,
          'position',
          lag_reports."position"
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'reported_sum_is_of_logged_stores', 'verdict': agreed.verdict_1, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END, 'reason': CASE
          WHEN agreed.verdict_1 IS NULL
          THEN COALESCE(agreed.reason_1, lag_reports.sum_unknown, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_1, FALSE)
          THEN CAST(JSON_OBJECT(
            'r.reported',
            STRUCT_EXTRACT(agreed.first_state, 'r.reported'),
            'r.offsetSum',
            STRUCT_EXTRACT(agreed.first_state, 'r.offsetSum'),
            'r.loggedStores',
            STRUCT_EXTRACT(agreed.first_state, 'r.loggedStores'),
            'r.loggedOffsetSum',
            STRUCT_EXTRACT(agreed.first_state, 'r.loggedOffsetSum')
          ) AS TEXT)
        END},
        {'definition': 'zero_is_the_identity', 'verdict': agreed.verdict_2, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END, 'reason': CASE
          WHEN agreed.verdict_2 IS NULL
          THEN COALESCE(agreed.reason_2, lag_reports.sum_unknown, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_2, FALSE)
          THEN CAST(JSON_OBJECT(
            'r.reported',
            STRUCT_EXTRACT(agreed.first_state, 'r.reported'),
            'r.offsetSum',
            STRUCT_EXTRACT(agreed.first_state, 'r.offsetSum'),
            'r.nonLoggedStores',
            STRUCT_EXTRACT(agreed.first_state, 'r.nonLoggedStores'),
            'r.loggedOffsetSum',
            STRUCT_EXTRACT(agreed.first_state, 'r.loggedOffsetSum')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.lag_reports AS lag_reports
    FULL OUTER JOIN agreed
      USING (cluster, lag_report_id)
  ) AS judged_together
) AS fanned
