-- generated from Dangling in spec/producer_epoch/PartitionRules.tla by `tlasql compile`; do not edit
--
-- Dangling(x) == x.open /\ ~x.listed
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
    listed AS "x.listed"
  FROM silver.partition_transactions
), judged AS (
  SELECT
    *,
    "x.open" AND NOT "x.listed" AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    partition_transaction_id,
    COUNT(*) AS states,
    CASE WHEN BOOL_AND(COALESCE(c1, FALSE)) THEN TRUE WHEN BOOL_AND(COALESCE(NOT c1, FALSE)) THEN FALSE END AS verdict
  FROM judged
  GROUP BY
    cluster,
    partition_transaction_id
)
SELECT
  cluster,
  partition_transaction_id AS subject,
  agreed.verdict AS outcome,
  CASE
    WHEN agreed.verdict IS NULL
    THEN COALESCE(partition_transactions.unknown_reason, 'not_captured')
  END AS reason
FROM silver.partition_transactions AS partition_transactions
FULL OUTER JOIN agreed
  USING (cluster, partition_transaction_id)
