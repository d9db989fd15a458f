-- generated from ShippedAddPartitionsToTxn in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- ShippedAddPartitionsToTxn(a) ==
--     IF ~a.known \/ a.providedId # a.producerId THEN "INVALID_PRODUCER_ID_MAPPING"
--     ELSE IF a.providedEpoch # a.producerEpoch THEN Fencing(a)
--     ELSE IF Preparation(a) THEN "CONCURRENT_TRANSACTIONS"
--     ELSE IF a.verifyOnly /\ ~a.listed THEN "TRANSACTION_ABORTABLE"
--     ELSE "NONE"
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    addition_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    known AS "a.known",
    provided_id AS "a.providedId",
    producer_id AS "a.producerId",
    provided_epoch AS "a.providedEpoch",
    producer_epoch AS "a.producerEpoch",
    api_version AS "a.apiVersion",
    status AS "a.status",
    verify_only AS "a.verifyOnly",
    listed AS "a.listed"
  FROM silver.add_partitions_to_txn_states
), given_1 AS (
  SELECT
    *,
    CASE (
        NOT "a.providedEpoch" = "a.producerEpoch"
      )
      WHEN TRUE
      THEN CASE (
          "a.apiVersion" < 2
        )
        WHEN TRUE
        THEN 'INVALID_PRODUCER_EPOCH'
        WHEN FALSE
        THEN 'PRODUCER_FENCED'
        ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
      END
      WHEN FALSE
      THEN CASE (
          "a.status" = 'PrepareCommit' OR "a.status" = 'PrepareAbort'
        )
        WHEN TRUE
        THEN 'CONCURRENT_TRANSACTIONS'
        WHEN FALSE
        THEN CASE (
            "a.verifyOnly" AND NOT "a.listed"
          )
          WHEN TRUE
          THEN 'TRANSACTION_ABORTABLE'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
        END
        ELSE CASE
          WHEN 'CONCURRENT_TRANSACTIONS' = CASE (
              "a.verifyOnly" AND NOT "a.listed"
            )
            WHEN TRUE
            THEN 'TRANSACTION_ABORTABLE'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
          END
          THEN 'CONCURRENT_TRANSACTIONS'
        END
      END
      ELSE CASE
        WHEN CASE (
            "a.apiVersion" < 2
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_EPOCH'
          WHEN FALSE
          THEN 'PRODUCER_FENCED'
          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
        END = CASE (
            "a.status" = 'PrepareCommit' OR "a.status" = 'PrepareAbort'
          )
          WHEN TRUE
          THEN 'CONCURRENT_TRANSACTIONS'
          WHEN FALSE
          THEN CASE (
              "a.verifyOnly" AND NOT "a.listed"
            )
            WHEN TRUE
            THEN 'TRANSACTION_ABORTABLE'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
          END
          ELSE CASE
            WHEN 'CONCURRENT_TRANSACTIONS' = CASE (
                "a.verifyOnly" AND NOT "a.listed"
              )
              WHEN TRUE
              THEN 'TRANSACTION_ABORTABLE'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
            END
            THEN 'CONCURRENT_TRANSACTIONS'
          END
        END
        THEN CASE (
            "a.apiVersion" < 2
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_EPOCH'
          WHEN FALSE
          THEN 'PRODUCER_FENCED'
          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
        END
      END
    END AS "given.1"
  FROM frame
), judged AS (
  SELECT
    *,
    CASE (
        NOT "a.known" OR NOT "a.providedId" = "a.producerId"
      )
      WHEN TRUE
      THEN 'INVALID_PRODUCER_ID_MAPPING'
      WHEN FALSE
      THEN "given.1"
      ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = "given.1" THEN 'INVALID_PRODUCER_ID_MAPPING' END
    END AS c1
  FROM given_1
), agreed AS (
  SELECT
    cluster,
    addition_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    addition_id
)
SELECT
  cluster,
  addition_id AS subject,
  CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.reason END,
      add_partitions_to_txns.unknown_reason,
      'not_captured'
    )
  END AS reason
FROM silver.add_partitions_to_txns AS add_partitions_to_txns
FULL OUTER JOIN agreed
  USING (cluster, addition_id)
