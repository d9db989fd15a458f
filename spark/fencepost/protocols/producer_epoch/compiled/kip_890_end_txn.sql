-- generated from Kip890EndTxn in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- Kip890EndTxn(e) ==
--     IF ~e.known \/ ~(e.providedId = e.producerId \/ (e.providedId = e.previousId /\ Exhausted(e.providedEpoch)))
--     THEN "INVALID_PRODUCER_ID_MAPPING"
--     ELSE IF SaysCurrent(e)
--     THEN IF e.status = "Ongoing" THEN "NONE"
--          ELSE IF ~EndsAlike(e) THEN "INVALID_TXN_STATE"
--          ELSE IF Preparation(e) THEN "CONCURRENT_TRANSACTIONS"
--          ELSE "NONE"
--     ELSE IF ~MovesEpoch(e) \/ e.providedEpoch # e.lastEpoch \/ e.status \in {"Empty", "Ongoing"} THEN Fencing(e)
--     ELSE IF EndsAlike(e) THEN "NONE"
--     ELSE "INVALID_TXN_STATE"
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    known AS `e.known`,
    provided_id AS `e.providedId`,
    producer_id AS `e.producerId`,
    previous_id AS `e.previousId`,
    provided_epoch AS `e.providedEpoch`,
    producer_epoch AS `e.producerEpoch`,
    status AS `e.status`,
    commit AS `e.commit`,
    api_version AS `e.apiVersion`,
    last_epoch AS `e.lastEpoch`
  FROM silver.end_txn_states
), judged AS (
  SELECT
    *,
    TRY_ELEMENT_AT(
      TRANSFORM(
        ARRAY(
          TRY_ELEMENT_AT(
            TRANSFORM(
              ARRAY(
                CASE (
                    `e.status` = 'Ongoing'
                  )
                  WHEN TRUE
                  THEN 'NONE'
                  WHEN FALSE
                  THEN CASE (
                      NOT (
                        (
                          `e.commit` AND (
                            `e.status` = 'PrepareCommit' OR `e.status` = 'CompleteCommit'
                          )
                        )
                        OR (
                          NOT `e.commit` AND (
                            `e.status` = 'PrepareAbort' OR `e.status` = 'CompleteAbort'
                          )
                        )
                      )
                    )
                    WHEN TRUE
                    THEN 'INVALID_TXN_STATE'
                    WHEN FALSE
                    THEN CASE (
                        `e.status` = 'PrepareCommit' OR `e.status` = 'PrepareAbort'
                      )
                      WHEN TRUE
                      THEN 'CONCURRENT_TRANSACTIONS'
                      WHEN FALSE
                      THEN 'NONE'
                      ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
                    END
                    ELSE CASE
                      WHEN 'INVALID_TXN_STATE' = CASE (
                          `e.status` = 'PrepareCommit' OR `e.status` = 'PrepareAbort'
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
                            `e.commit` AND (
                              `e.status` = 'PrepareCommit' OR `e.status` = 'CompleteCommit'
                            )
                          )
                          OR (
                            NOT `e.commit` AND (
                              `e.status` = 'PrepareAbort' OR `e.status` = 'CompleteAbort'
                            )
                          )
                        )
                      )
                      WHEN TRUE
                      THEN 'INVALID_TXN_STATE'
                      WHEN FALSE
                      THEN CASE (
                          `e.status` = 'PrepareCommit' OR `e.status` = 'PrepareAbort'
                        )
                        WHEN TRUE
                        THEN 'CONCURRENT_TRANSACTIONS'
                        WHEN FALSE
                        THEN 'NONE'
                        ELSE CASE WHEN 'CONCURRENT_TRANSACTIONS' = 'NONE' THEN 'CONCURRENT_TRANSACTIONS' END
                      END
                      ELSE CASE
                        WHEN 'INVALID_TXN_STATE' = CASE (
                            `e.status` = 'PrepareCommit' OR `e.status` = 'PrepareAbort'
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
                END
              ),
              then_1 -> TRY_ELEMENT_AT(
                TRANSFORM(
                  ARRAY(
                    CASE (
                        (
                          NOT `e.apiVersion` >= 5 OR NOT `e.providedEpoch` = `e.lastEpoch`
                        )
                        OR (
                          `e.status` = 'Empty' OR `e.status` = 'Ongoing'
                        )
                      )
                      WHEN TRUE
                      THEN CASE (
                          `e.apiVersion` < 2
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
                            `e.commit` AND (
                              `e.status` = 'PrepareCommit' OR `e.status` = 'CompleteCommit'
                            )
                          )
                          OR (
                            NOT `e.commit` AND (
                              `e.status` = 'PrepareAbort' OR `e.status` = 'CompleteAbort'
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
                            `e.apiVersion` < 2
                          )
                          WHEN TRUE
                          THEN 'INVALID_PRODUCER_EPOCH'
                          WHEN FALSE
                          THEN 'PRODUCER_FENCED'
                          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
                        END = CASE (
                            (
                              `e.commit` AND (
                                `e.status` = 'PrepareCommit' OR `e.status` = 'CompleteCommit'
                              )
                            )
                            OR (
                              NOT `e.commit` AND (
                                `e.status` = 'PrepareAbort' OR `e.status` = 'CompleteAbort'
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
                            `e.apiVersion` < 2
                          )
                          WHEN TRUE
                          THEN 'INVALID_PRODUCER_EPOCH'
                          WHEN FALSE
                          THEN 'PRODUCER_FENCED'
                          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
                        END
                      END
                    END
                  ),
                  other_2 -> CASE (
                      `e.providedId` = `e.producerId` AND `e.providedEpoch` = `e.producerEpoch`
                    )
                    WHEN TRUE
                    THEN then_1
                    WHEN FALSE
                    THEN other_2
                    ELSE CASE WHEN then_1 = other_2 THEN then_1 END
                  END
                ),
                1
              )
            ),
            1
          )
        ),
        other_4 -> CASE (
            NOT `e.known`
            OR NOT (
              `e.providedId` = `e.producerId`
              OR (
                `e.providedId` = `e.previousId` AND `e.providedEpoch` >= 32766
              )
            )
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_ID_MAPPING'
          WHEN FALSE
          THEN other_4
          ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = other_4 THEN 'INVALID_PRODUCER_ID_MAPPING' END
        END
      ),
      1
    ) AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    request_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    request_id
)
SELECT
  cluster,
  request_id AS subject,
  CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason END,
      end_txns.unknown_reason,
      'not_captured'
    )
  END AS reason
FROM silver.end_txns AS end_txns
FULL OUTER JOIN agreed
  USING (cluster, request_id)
