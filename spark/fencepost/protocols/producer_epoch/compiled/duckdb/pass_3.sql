-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for broker_keeps_its_end_txn_rule, no_stale_end_granted, transaction_ended_by_its_producer
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    error AS "e.error",
    known AS "e.known",
    provided_id AS "e.providedId",
    producer_id AS "e.producerId",
    api_version AS "e.apiVersion",
    provided_epoch AS "e.providedEpoch",
    producer_epoch AS "e.producerEpoch",
    previous_id_held AS "e.previousIdHeld",
    status AS "e.status",
    commit AS "e.commit",
    returned_id AS "e.returnedId",
    returned_epoch AS "e.returnedEpoch",
    previous_id AS "e.previousId",
    last_epoch AS "e.lastEpoch",
    by_another AS "e.byAnother"
  FROM silver.end_txn_states
), given_1 AS (
  SELECT
    *,
    CASE (
        "e.apiVersion" < 2
      )
      WHEN TRUE
      THEN 'INVALID_PRODUCER_EPOCH'
      WHEN FALSE
      THEN 'PRODUCER_FENCED'
      ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
    END AS "given.1",
    CASE (
        "e.apiVersion" >= 5
        AND (
          "e.providedId" = "e.producerId" AND "e.providedEpoch" = "e.producerEpoch"
        )
      )
      WHEN TRUE
      THEN CASE "e.commit"
        WHEN TRUE
        THEN 'INVALID_TXN_STATE'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'INVALID_TXN_STATE' = 'NONE' THEN 'INVALID_TXN_STATE' END
      END
      WHEN FALSE
      THEN CASE (
          NOT (
            (
              "e.commit" AND (
                "e.status" = 'PrepareCommit' OR "e.status" = 'CompleteCommit'
              )
            )
            OR (
              NOT "e.commit" AND (
                "e.status" = 'PrepareAbort' OR "e.status" = 'CompleteAbort'
              )
            )
          )
        )
        WHEN TRUE
        THEN 'INVALID_TXN_STATE'
        WHEN FALSE
        THEN CASE (
            "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
          )
          WHEN TRUE
          THEN 'CONCURRENT_TRANSACTIONS'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
        END
        ELSE CASE
          WHEN 'INVALID_TXN_STATE' = CASE (
              "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
            )
            WHEN TRUE
            THEN 'CONCURRENT_TRANSACTIONS'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
          END
          THEN 'INVALID_TXN_STATE'
        END
      END
      ELSE CASE
        WHEN CASE "e.commit"
          WHEN TRUE
          THEN 'INVALID_TXN_STATE'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'INVALID_TXN_STATE' = 'NONE' THEN 'INVALID_TXN_STATE' END
        END = CASE (
            NOT (
              (
                "e.commit" AND (
                  "e.status" = 'PrepareCommit' OR "e.status" = 'CompleteCommit'
                )
              )
              OR (
                NOT "e.commit" AND (
                  "e.status" = 'PrepareAbort' OR "e.status" = 'CompleteAbort'
                )
              )
            )
          )
          WHEN TRUE
          THEN 'INVALID_TXN_STATE'
          WHEN FALSE
          THEN CASE (
              "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
            )
            WHEN TRUE
            THEN 'CONCURRENT_TRANSACTIONS'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
          END
          ELSE CASE
            WHEN 'INVALID_TXN_STATE' = CASE (
                "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
              )
              WHEN TRUE
              THEN 'CONCURRENT_TRANSACTIONS'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
            END
            THEN 'INVALID_TXN_STATE'
          END
        END
        THEN CASE "e.commit"
          WHEN TRUE
          THEN 'INVALID_TXN_STATE'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'INVALID_TXN_STATE' = 'NONE' THEN 'INVALID_TXN_STATE' END
        END
      END
    END AS "given.2",
    CASE (
        "e.status" = 'Ongoing'
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN CASE (
          NOT (
            (
              "e.commit" AND (
                "e.status" = 'PrepareCommit' OR "e.status" = 'CompleteCommit'
              )
            )
            OR (
              NOT "e.commit" AND (
                "e.status" = 'PrepareAbort' OR "e.status" = 'CompleteAbort'
              )
            )
          )
        )
        WHEN TRUE
        THEN 'INVALID_TXN_STATE'
        WHEN FALSE
        THEN CASE (
            "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
          )
          WHEN TRUE
          THEN 'CONCURRENT_TRANSACTIONS'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
        END
        ELSE CASE
          WHEN 'INVALID_TXN_STATE' = CASE (
              "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
            )
            WHEN TRUE
            THEN 'CONCURRENT_TRANSACTIONS'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
          END
          THEN 'INVALID_TXN_STATE'
        END
      END
      ELSE CASE
        WHEN 'NONE' = CASE (
            NOT (
              (
                "e.commit" AND (
                  "e.status" = 'PrepareCommit' OR "e.status" = 'CompleteCommit'
                )
              )
              OR (
                NOT "e.commit" AND (
                  "e.status" = 'PrepareAbort' OR "e.status" = 'CompleteAbort'
                )
              )
            )
          )
          WHEN TRUE
          THEN 'INVALID_TXN_STATE'
          WHEN FALSE
          THEN CASE (
              "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
            )
            WHEN TRUE
            THEN 'CONCURRENT_TRANSACTIONS'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
          END
          ELSE CASE
            WHEN 'INVALID_TXN_STATE' = CASE (
                "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
              )
              WHEN TRUE
              THEN 'CONCURRENT_TRANSACTIONS'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
            END
            THEN 'INVALID_TXN_STATE'
          END
        END
        THEN 'NONE'
      END
    END AS "given.4",
    CASE (
        (
          NOT "e.apiVersion" >= 5 OR NOT "e.providedEpoch" = "e.lastEpoch"
        )
        OR (
          "e.status" = 'Empty' OR "e.status" = 'Ongoing'
        )
      )
      WHEN TRUE
      THEN CASE (
          "e.apiVersion" < 2
        )
        WHEN TRUE
        THEN 'INVALID_PRODUCER_EPOCH'
        WHEN FALSE
        THEN 'PRODUCER_FENCED'
        ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
      END
      WHEN FALSE
      THEN CASE (
          (
            "e.commit" AND (
              "e.status" = 'PrepareCommit' OR "e.status" = 'CompleteCommit'
            )
          )
          OR (
            NOT "e.commit" AND (
              "e.status" = 'PrepareAbort' OR "e.status" = 'CompleteAbort'
            )
          )
        )
        WHEN TRUE
        THEN 'NONE'
        WHEN FALSE
        THEN 'INVALID_TXN_STATE'
        ELSE CASE WHEN 'NONE' = 'INVALID_TXN_STATE' THEN 'NONE' END
      END
      ELSE CASE
        WHEN CASE (
            "e.apiVersion" < 2
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_EPOCH'
          WHEN FALSE
          THEN 'PRODUCER_FENCED'
          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
        END = CASE (
            (
              "e.commit" AND (
                "e.status" = 'PrepareCommit' OR "e.status" = 'CompleteCommit'
              )
            )
            OR (
              NOT "e.commit" AND (
                "e.status" = 'PrepareAbort' OR "e.status" = 'CompleteAbort'
              )
            )
          )
          WHEN TRUE
          THEN 'NONE'
          WHEN FALSE
          THEN 'INVALID_TXN_STATE'
          ELSE CASE WHEN 'NONE' = 'INVALID_TXN_STATE' THEN 'NONE' END
        END
        THEN CASE (
            "e.apiVersion" < 2
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_EPOCH'
          WHEN FALSE
          THEN 'PRODUCER_FENCED'
          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
        END
      END
    END AS "given.5"
  FROM frame
), given_2 AS (
  SELECT
    *,
    CASE (
        "e.status" = 'Ongoing'
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN 'NONE' = "given.2" THEN 'NONE' END
    END AS "given.3",
    CASE (
        "e.providedId" = "e.producerId" AND "e.providedEpoch" = "e.producerEpoch"
      )
      WHEN TRUE
      THEN "given.4"
      WHEN FALSE
      THEN "given.5"
      ELSE CASE WHEN "given.4" = "given.5" THEN "given.4" END
    END AS "given.6"
  FROM given_1
), judged AS (
  SELECT
    *,
    "e.error" = 'NONE'
    OR "e.error" = 'PRODUCER_FENCED'
    OR "e.error" = 'INVALID_PRODUCER_EPOCH'
    OR "e.error" = 'INVALID_PRODUCER_ID_MAPPING'
    OR "e.error" = 'INVALID_TXN_STATE' AS antecedent_1,
    "e.error" = LIST_EXTRACT(
      LIST_TRANSFORM(
        [
          CASE (
              NOT (
                (
                  (
                    "e.providedId" = "e.producerId" AND "e.providedEpoch" = "e.producerEpoch"
                  )
                  AND NOT (
                    "e.apiVersion" >= 5 AND (
                      "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
                    )
                  )
                )
                OR (
                  (
                    "e.apiVersion" >= 5
                    AND (
                      (
                        "e.providedId" = "e.producerId" AND TRY(CAST("e.providedEpoch" AS BIGINT) + 1) = "e.producerEpoch"
                      )
                      OR (
                        (
                          "e.providedId" = "e.previousIdHeld" AND "e.providedEpoch" = 32766
                        ) AND "e.producerEpoch" = 0
                      )
                    )
                  )
                  AND (
                    (
                      "e.status" = 'PrepareCommit' OR "e.status" = 'PrepareAbort'
                    )
                    OR (
                      "e.status" = 'CompleteCommit' OR "e.status" = 'CompleteAbort'
                    )
                  )
                )
              )
            )
            WHEN TRUE
            THEN "given.1"
            WHEN FALSE
            THEN "given.3"
            ELSE CASE WHEN "given.1" = "given.3" THEN "given.1" END
          END
        ],
        LAMBDA other_6 : CASE (
            NOT "e.known"
            OR NOT (
              "e.providedId" = "e.producerId"
              OR (
                "e.apiVersion" >= 5
                AND (
                  (
                    "e.providedId" = "e.producerId" AND TRY(CAST("e.providedEpoch" AS BIGINT) + 1) = "e.producerEpoch"
                  )
                  OR (
                    (
                      "e.providedId" = "e.previousIdHeld" AND "e.providedEpoch" = 32766
                    ) AND "e.producerEpoch" = 0
                  )
                )
              )
            )
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_ID_MAPPING'
          WHEN FALSE
          THEN other_6
          ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = other_6 THEN 'INVALID_PRODUCER_ID_MAPPING' END
        END
      ),
      1
    )
    OR (
      "e.error" = 'PRODUCER_FENCED'
      AND (
        "e.commit" AND "e.status" = 'CompleteAbort'
      )
      AND (
        "e.apiVersion" >= 5
        AND (
          (
            "e.providedId" = "e.producerId" AND TRY(CAST("e.providedEpoch" AS BIGINT) + 1) = "e.producerEpoch"
          )
          OR (
            (
              "e.providedId" = "e.previousIdHeld" AND "e.providedEpoch" = 32766
            ) AND "e.producerEpoch" = 0
          )
        )
      )
    ) AS c1_1,
    NOT (
      "e.error" = 'NONE' AND "e.apiVersion" >= 5
    )
    OR CASE (
        (
          "e.providedId" = "e.producerId" AND TRY(CAST("e.providedEpoch" AS BIGINT) + 1) = "e.producerEpoch"
        )
        OR (
          (
            "e.providedId" = "e.previousIdHeld" AND "e.providedEpoch" = 32766
          ) AND "e.producerEpoch" = 0
        )
      )
      WHEN TRUE
      THEN "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = "e.producerEpoch"
      WHEN FALSE
      THEN CASE (
          "e.producerEpoch" >= 32766
        )
        WHEN TRUE
        THEN NOT "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = 0
        WHEN FALSE
        THEN "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = TRY(CAST("e.producerEpoch" AS BIGINT) + 1)
        ELSE CASE
          WHEN (
            NOT "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = 0
          ) = (
            "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = TRY(CAST("e.producerEpoch" AS BIGINT) + 1)
          )
          THEN NOT "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = 0
        END
      END
      ELSE CASE
        WHEN (
          "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = "e.producerEpoch"
        ) = CASE (
            "e.producerEpoch" >= 32766
          )
          WHEN TRUE
          THEN NOT "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = 0
          WHEN FALSE
          THEN "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = TRY(CAST("e.producerEpoch" AS BIGINT) + 1)
          ELSE CASE
            WHEN (
              NOT "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = 0
            ) = (
              "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = TRY(CAST("e.producerEpoch" AS BIGINT) + 1)
            )
            THEN NOT "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = 0
          END
        END
        THEN "e.returnedId" = "e.producerId" AND "e.returnedEpoch" = "e.producerEpoch"
      END
    END AS c2_1,
    CASE (
        NOT "e.known"
        OR NOT (
          "e.providedId" = "e.producerId"
          OR (
            "e.providedId" = "e.previousId" AND "e.providedEpoch" >= 32766
          )
        )
      )
      WHEN TRUE
      THEN 'INVALID_PRODUCER_ID_MAPPING'
      WHEN FALSE
      THEN "given.6"
      ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = "given.6" THEN 'INVALID_PRODUCER_ID_MAPPING' END
    END = 'PRODUCER_FENCED'
    OR CASE (
        NOT "e.known"
        OR NOT (
          "e.providedId" = "e.producerId"
          OR (
            "e.providedId" = "e.previousId" AND "e.providedEpoch" >= 32766
          )
        )
      )
      WHEN TRUE
      THEN 'INVALID_PRODUCER_ID_MAPPING'
      WHEN FALSE
      THEN "given.6"
      ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = "given.6" THEN 'INVALID_PRODUCER_ID_MAPPING' END
    END = 'INVALID_PRODUCER_EPOCH' AS antecedent_2,
    NOT "e.error" = 'NONE' AS c1_2,
    "e.error" = 'NONE' AND "e.status" = 'Ongoing' AS antecedent_3,
    NOT "e.byAnother" AS c1_3
  FROM given_2
), weighed AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    "e.error",
    "e.known",
    "e.providedId",
    "e.producerId",
    "e.apiVersion",
    "e.providedEpoch",
    "e.producerEpoch",
    "e.previousIdHeld",
    "e.status",
    "e.commit",
    "e.returnedId",
    "e.returnedEpoch",
    "e.previousId",
    "e.lastEpoch",
    "e.byAnother",
    NOT antecedent_1 OR (
      c1_1 AND c2_1
    ) AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE
      WHEN antecedent_1 AND NOT c1_1
      THEN '\/ e.error = ShippedEndTxn(e) \/ /\ e.error = "PRODUCER_FENCED" /\ e.commit /\ e.status = "CompleteAbort" /\ MovesEpoch(e) /\ SaysTheEpochBefore(e)'
      WHEN antecedent_1 AND NOT c2_1
      THEN 'e.error = "NONE" /\ MovesEpoch(e) => GivesTheRightEpoch(e)'
    END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'e.error # "NONE"' END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN '~e.byAnother' END AS failed_conjunct_3
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    request_id
  FROM silver.end_txn_states
  GROUP BY
    cluster,
    request_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    request_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'e.error': "e.error", 'e.known': "e.known", 'e.providedId': "e.providedId", 'e.producerId': "e.producerId", 'e.apiVersion': "e.apiVersion", 'e.providedEpoch': "e.providedEpoch", 'e.producerEpoch': "e.producerEpoch", 'e.previousIdHeld': "e.previousIdHeld", 'e.status': "e.status", 'e.commit': "e.commit", 'e.returnedId': "e.returnedId", 'e.returnedEpoch': "e.returnedEpoch", 'e.previousId': "e.previousId", 'e.lastEpoch': "e.lastEpoch", 'e.byAnother': "e.byAnother"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN verdict_1 AND NOT verdict_1 THEN 'several_states' END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE WHEN verdict_2 AND NOT verdict_2 THEN 'several_states' END AS reason_2,
    CASE WHEN COALESCE(verdict_3, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_3, FALSE) THEN FALSE END AS verdict_3,
    exercised_3 AS exercised_3,
    CASE
      WHEN verdict_3 AND NOT verdict_3
      THEN 'several_states'
      ELSE CASE WHEN verdict_3 IS NULL THEN CASE WHEN "e.byAnother" IS NULL THEN 'client_unknown' END END
    END AS reason_3
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.request_id IS NOT DISTINCT FROM weighed.request_id
    )
  UNION ALL
  SELECT
    cluster,
    request_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'e.error': "e.error", 'e.known': "e.known", 'e.providedId': "e.providedId", 'e.producerId': "e.producerId", 'e.apiVersion': "e.apiVersion", 'e.providedEpoch': "e.providedEpoch", 'e.producerEpoch': "e.producerEpoch", 'e.previousIdHeld': "e.previousIdHeld", 'e.status': "e.status", 'e.commit': "e.commit", 'e.returnedId': "e.returnedId", 'e.returnedEpoch': "e.returnedEpoch", 'e.previousId': "e.previousId", 'e.lastEpoch': "e.lastEpoch", 'e.byAnother': "e.byAnother"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE WHEN BOOL_OR(verdict_1) AND BOOL_OR(NOT verdict_1) THEN 'several_states' END AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    CASE WHEN BOOL_OR(verdict_2) AND BOOL_OR(NOT verdict_2) THEN 'several_states' END AS reason_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    CASE
      WHEN BOOL_OR(verdict_3) AND BOOL_OR(NOT verdict_3)
      THEN 'several_states'
      ELSE MIN(CASE WHEN verdict_3 IS NULL THEN CASE WHEN "e.byAnother" IS NULL THEN 'client_unknown' END END)
    END AS reason_3
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.request_id IS NOT DISTINCT FROM weighed.request_id
    )
  GROUP BY
    cluster,
    request_id
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
        STRUCT_EXTRACT(agreed.first_state, 'topic'),
        'partition',
        STRUCT_EXTRACT(agreed.first_state, 'partition'),
        'partition_key',
        STRUCT_EXTRACT(agreed.first_state, 'partition_key')
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_3 END, FALSE)
        )
        THEN CAST(JSON_OBJECT('e', request_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, end_txns.requested_at) AS from_time,
      COALESCE(agreed.to_time, end_txns.responded_at) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_3 END, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'request_id',
          request_id,
          'broker_id',
          end_txns.broker_id,
          'client_id',
          end_txns.client_id,
          'connection',
          end_txns.connection,
          'given_client_id',
          end_txns.given_client_id,
          'given_connection',
          end_txns.given_connection,
          'transactional_id',
          end_txns.transactional_id,
          'provided_id',
          end_txns.provided_id,
          'provided_epoch',
          end_txns.provided_epoch,
          'commit',
          end_txns.commit,
          'error',
          end_txns.error,
          'returned_id',
          end_txns.returned_id,
          'returned_epoch',
          end_txns.returned_epoch,
          'record_offset',
          end_txns.record_offset,
          'candidates',
          end_txns.candidates,
          'unknown_detail',
          end_txns.unknown_detail,
          'file',
          end_txns.file,
          'position',
          end_txns."position"
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'broker_keeps_its_end_txn_rule', 'verdict': CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = end_txns.candidates
          THEN CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason_1 END,
            end_txns.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'e.error',
            STRUCT_EXTRACT(agreed.first_state, 'e.error'),
            'e.known',
            STRUCT_EXTRACT(agreed.first_state, 'e.known'),
            'e.providedId',
            STRUCT_EXTRACT(agreed.first_state, 'e.providedId'),
            'e.producerId',
            STRUCT_EXTRACT(agreed.first_state, 'e.producerId'),
            'e.apiVersion',
            STRUCT_EXTRACT(agreed.first_state, 'e.apiVersion'),
            'e.providedEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'e.providedEpoch'),
            'e.producerEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'e.producerEpoch'),
            'e.previousIdHeld',
            STRUCT_EXTRACT(agreed.first_state, 'e.previousIdHeld'),
            'e.status',
            STRUCT_EXTRACT(agreed.first_state, 'e.status'),
            'e.commit',
            STRUCT_EXTRACT(agreed.first_state, 'e.commit'),
            'e.returnedId',
            STRUCT_EXTRACT(agreed.first_state, 'e.returnedId'),
            'e.returnedEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'e.returnedEpoch')
          ) AS TEXT)
        END},
        {'definition': 'no_stale_end_granted', 'verdict': CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = end_txns.candidates
          THEN CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason_2 END,
            end_txns.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'e.known',
            STRUCT_EXTRACT(agreed.first_state, 'e.known'),
            'e.providedId',
            STRUCT_EXTRACT(agreed.first_state, 'e.providedId'),
            'e.producerId',
            STRUCT_EXTRACT(agreed.first_state, 'e.producerId'),
            'e.previousId',
            STRUCT_EXTRACT(agreed.first_state, 'e.previousId'),
            'e.providedEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'e.providedEpoch'),
            'e.producerEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'e.producerEpoch'),
            'e.status',
            STRUCT_EXTRACT(agreed.first_state, 'e.status'),
            'e.commit',
            STRUCT_EXTRACT(agreed.first_state, 'e.commit'),
            'e.apiVersion',
            STRUCT_EXTRACT(agreed.first_state, 'e.apiVersion'),
            'e.lastEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'e.lastEpoch'),
            'e.error',
            STRUCT_EXTRACT(agreed.first_state, 'e.error')
          ) AS TEXT)
        END},
        {'definition': 'transaction_ended_by_its_producer', 'verdict': CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_3 END, 'exercised': COALESCE(agreed.exercised_3, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = end_txns.candidates
          THEN CASE WHEN NOT agreed.verdict_3 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_3') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_3 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason_3 END,
            end_txns.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_3 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'e.error',
            STRUCT_EXTRACT(agreed.first_state, 'e.error'),
            'e.status',
            STRUCT_EXTRACT(agreed.first_state, 'e.status'),
            'e.byAnother',
            STRUCT_EXTRACT(agreed.first_state, 'e.byAnother')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.end_txns AS end_txns
    FULL OUTER JOIN agreed
      USING (cluster, request_id)
  ) AS judged_together
) AS fanned
