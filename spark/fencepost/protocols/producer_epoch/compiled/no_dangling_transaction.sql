-- generated from NoDanglingTransaction in spec/producer_epoch/PartitionRules.tla by `tlasql compile`; do not edit
--
-- NoDanglingTransaction == \A x \in partitionTransactions : x.open => ~Dangling(x)
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    partition_transaction_id,
    from_position,
    to_position,
    from_time,
    to_time,
    open AS `x.open`,
    listed AS `x.listed`
  FROM silver.partition_transactions
), judged AS (
  SELECT
    *,
    `x.open` AS antecedent,
    NOT (
      `x.open` AND NOT `x.listed`
    ) AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    partition_transaction_id,
    from_position,
    to_position,
    from_time,
    to_time,
    `x.open`,
    `x.listed`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~Dangling(x)' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    partition_transaction_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      NAMED_STRUCT(
        'topic',
        topic,
        'partition',
        `partition`,
        'partition_key',
        partition_key,
        'failed_conjunct',
        failed_conjunct,
        'x.open',
        `x.open`,
        'x.listed',
        `x.listed`
      )
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  GROUP BY
    cluster,
    partition_transaction_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`topic`, partition_transactions.topic) AS topic,
      COALESCE(agreed.first_state.`partition`, partition_transactions.`partition`) AS `partition`,
      COALESCE(agreed.first_state.`partition_key`, partition_transactions.partition_key) AS partition_key
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(partition_transaction_id AS x), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, partition_transactions.from_time) AS from_time,
  COALESCE(agreed.to_time, partition_transactions.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE
    WHEN agreed.verdict IS NULL
    THEN COALESCE(partition_transactions.unknown_reason, 'not_captured')
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(agreed.first_state.`x.open` AS `x.open`, agreed.first_state.`x.listed` AS `x.listed`),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        partition_transactions.transactional_id,
        partition_transactions.producer_id,
        partition_transactions.producer_epoch,
        partition_transactions.first_offset,
        partition_transactions.last_offset,
        partition_transactions.batches,
        partition_transactions.records,
        partition_transactions.marker_epoch,
        partition_transactions.coordinator_outcome,
        partition_transactions.log_deleted
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.partition_transactions AS partition_transactions
FULL OUTER JOIN agreed
  USING (cluster, partition_transaction_id)
