-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for no_dangling_transaction, no_write_outside_transaction, aborted_transactions_are_indexed
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    partition_transaction_id,
    from_position,
    to_position,
    from_time,
    to_time,
    open AS "x.open",
    listed AS "x.listed",
    aborted AS "x.aborted",
    indexed AS "x.indexed"
  FROM silver.partition_transactions
), judged AS (
  SELECT
    *,
    "x.open" AS antecedent_1,
    NOT (
      "x.open" AND NOT "x.listed"
    ) AS c1_1,
    NOT "x.open" AS antecedent_2,
    "x.listed" AS c1_2,
    NOT "x.open" AND "x.aborted" AS antecedent_3,
    "x.indexed" AS c1_3
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    partition_transaction_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "x.open",
    "x.listed",
    "x.aborted",
    "x.indexed",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN '~Dangling(x)' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'x.listed' END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN 'x.indexed' END AS failed_conjunct_3
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    partition_transaction_id
  FROM silver.partition_transactions
  GROUP BY
    cluster,
    partition_transaction_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    partition_transaction_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'x.open': "x.open", 'x.listed': "x.listed", 'x.aborted': "x.aborted", 'x.indexed': "x.indexed"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE WHEN COALESCE(verdict_3, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_3, FALSE) THEN FALSE END AS verdict_3,
    exercised_3 AS exercised_3,
    CASE WHEN verdict_3 IS NULL THEN CASE WHEN "x.indexed" IS NULL THEN 'not_captured' END END AS reason_3
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.partition_transaction_id IS NOT DISTINCT FROM weighed.partition_transaction_id
    )
  UNION ALL
  SELECT
    cluster,
    partition_transaction_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'x.open': "x.open", 'x.listed': "x.listed", 'x.aborted': "x.aborted", 'x.indexed': "x.indexed"}
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
    BOOL_AND(exercised_2) AS exercised_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    MIN(CASE WHEN verdict_3 IS NULL THEN CASE WHEN "x.indexed" IS NULL THEN 'not_captured' END END) AS reason_3
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.partition_transaction_id IS NOT DISTINCT FROM weighed.partition_transaction_id
    )
  GROUP BY
    cluster,
    partition_transaction_id
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
        'topic',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'topic'), partition_transactions.topic),
        'partition',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'partition'), partition_transactions."partition"),
        'partition_key',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'partition_key'), partition_transactions.partition_key)
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE)
          AND COALESCE(agreed.verdict_2, FALSE)
          AND COALESCE(agreed.verdict_3, FALSE)
        )
        THEN CAST(JSON_OBJECT('x', partition_transaction_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, partition_transactions.from_time) AS from_time,
      COALESCE(agreed.to_time, partition_transactions.to_time) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE)
          AND COALESCE(agreed.verdict_2, FALSE)
          AND COALESCE(agreed.verdict_3, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'transactional_id',
          partition_transactions.transactional_id,
          'producer_id',
          partition_transactions.producer_id,
          'producer_epoch',
          partition_transactions.producer_epoch,
          'first_offset',
          partition_transactions.first_offset,
          'last_offset',
          partition_transactions.last_offset,
          'batches',
          partition_transactions.batches,
          'records',
          partition_transactions.records,
          'marker_epoch',
          partition_transactions.marker_epoch,
          'coordinator_outcome',
          partition_transactions.coordinator_outcome,
          'log_deleted',
          partition_transactions.log_deleted
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'no_dangling_transaction', 'verdict': agreed.verdict_1, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END, 'reason': CASE
          WHEN agreed.verdict_1 IS NULL
          THEN COALESCE(partition_transactions.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_1, FALSE)
          THEN CAST(JSON_OBJECT(
            'x.open',
            STRUCT_EXTRACT(agreed.first_state, 'x.open'),
            'x.listed',
            STRUCT_EXTRACT(agreed.first_state, 'x.listed')
          ) AS TEXT)
        END},
        {'definition': 'no_write_outside_transaction', 'verdict': agreed.verdict_2, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END, 'reason': CASE
          WHEN agreed.verdict_2 IS NULL
          THEN COALESCE(partition_transactions.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_2, FALSE)
          THEN CAST(JSON_OBJECT(
            'x.open',
            STRUCT_EXTRACT(agreed.first_state, 'x.open'),
            'x.listed',
            STRUCT_EXTRACT(agreed.first_state, 'x.listed')
          ) AS TEXT)
        END},
        {'definition': 'aborted_transactions_are_indexed', 'verdict': agreed.verdict_3, 'exercised': COALESCE(agreed.exercised_3, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_3 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_3') END, 'reason': CASE
          WHEN agreed.verdict_3 IS NULL
          THEN COALESCE(agreed.reason_3, partition_transactions.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_3, FALSE)
          THEN CAST(JSON_OBJECT(
            'x.open',
            STRUCT_EXTRACT(agreed.first_state, 'x.open'),
            'x.aborted',
            STRUCT_EXTRACT(agreed.first_state, 'x.aborted'),
            'x.indexed',
            STRUCT_EXTRACT(agreed.first_state, 'x.indexed')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.partition_transactions AS partition_transactions
    FULL OUTER JOIN agreed
      USING (cluster, partition_transaction_id)
  ) AS judged_together
) AS fanned
