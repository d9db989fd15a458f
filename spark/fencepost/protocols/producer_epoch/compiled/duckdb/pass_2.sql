-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for kip_890_end_txn, shipped_end_txn
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
    known AS "e.known",
    provided_id AS "e.providedId",
    producer_id AS "e.producerId",
    previous_id AS "e.previousId",
    provided_epoch AS "e.providedEpoch",
    producer_epoch AS "e.producerEpoch",
    status AS "e.status",
    commit AS "e.commit",
    api_version AS "e.apiVersion",
    last_epoch AS "e.lastEpoch",
    previous_id_held AS "e.previousIdHeld"
  FROM silver.end_txn_states
), given_1 AS (
  SELECT
    *,
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
    END AS "given.1",
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
    END AS "given.2",
    CASE (
        "e.apiVersion" < 2
      )
      WHEN TRUE
      THEN 'INVALID_PRODUCER_EPOCH'
      WHEN FALSE
      THEN 'PRODUCER_FENCED'
      ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
    END AS "given.4",
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
    END AS "given.5"
  FROM frame
), given_2 AS (
  SELECT
    *,
    CASE (
        "e.providedId" = "e.producerId" AND "e.providedEpoch" = "e.producerEpoch"
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
    END AS "given.3",
    CASE (
        "e.status" = 'Ongoing'
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN "given.5"
      ELSE CASE WHEN 'NONE' = "given.5" THEN 'NONE' END
    END AS "given.6"
  FROM given_1
), judged AS (
  SELECT
    *,
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
      THEN "given.3"
      ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = "given.3" THEN 'INVALID_PRODUCER_ID_MAPPING' END
    END AS c1_1,
    LIST_EXTRACT(
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
            THEN "given.4"
            WHEN FALSE
            THEN "given.6"
            ELSE CASE WHEN "given.4" = "given.6" THEN "given.4" END
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
    ) AS c1_2
  FROM given_2
), agreed AS (
  SELECT
    cluster,
    request_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE WHEN MIN(c1_1) < MAX(c1_1) THEN 'several_states' END AS reason_1,
    CASE WHEN MIN(c1_2) < MAX(c1_2) THEN 'several_states' END AS reason_2
  FROM judged
  GROUP BY
    cluster,
    request_id
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
      request_id AS subject,
      [
        {'definition': 'kip_890_end_txn', 'outcome': CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason_1 END,
            end_txns.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'shipped_end_txn', 'outcome': CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason_2 END,
            end_txns.unknown_reason,
            'not_captured'
          )
        END}
      ] AS rows_
    FROM silver.end_txns AS end_txns
    FULL OUTER JOIN agreed
      USING (cluster, request_id)
  ) AS judged_together
) AS fanned
