-- generated from spec/producer_epoch/ProducerEpochProps.tla:851 by `tlasql compile`; do not edit
--
-- AbortedTransactionsAreIndexed == \A x \in partitionTransactions : ~x.open /\ x.aborted => x.indexed
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
    aborted AS "x.aborted",
    indexed AS "x.indexed"
  FROM silver.partition_transactions
), judged AS (
  SELECT
    *,
    NOT "x.open" AND "x.aborted" AS antecedent,
    "x.indexed" AS c1
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
    "x.aborted",
    "x.indexed",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'x.indexed (ProducerEpochProps:851)' END AS failed_conjunct
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
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'x.open': "x.open", 'x.aborted': "x.aborted", 'x.indexed': "x.indexed"}
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
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT('x', partition_transaction_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, partition_transactions.from_time) AS from_time,
  COALESCE(agreed.to_time, partition_transactions.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT(
      'x.open',
      STRUCT_EXTRACT(agreed.first_state, 'x.open'),
      'x.aborted',
      STRUCT_EXTRACT(agreed.first_state, 'x.aborted'),
      'x.indexed',
      STRUCT_EXTRACT(agreed.first_state, 'x.indexed')
    ) AS TEXT)
  END AS "values",
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
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
      partition_transactions.coordinator_outcome
    ) AS TEXT)
  END AS evidence
FROM silver.partition_transactions AS partition_transactions
FULL OUTER JOIN agreed
  USING (cluster, partition_transaction_id)
