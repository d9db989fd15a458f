-- generated from ShippedEndTxn in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- ShippedEndTxn(e) ==
--     IF ~e.known \/ ~(e.providedId = e.producerId \/ (MovesEpoch(e) /\ SaysTheEpochBefore(e)))
--     THEN "INVALID_PRODUCER_ID_MAPPING"
--     ELSE IF ~PassesEpochCheck(e) THEN Fencing(e)
--     ELSE IF e.status = "Ongoing" THEN "NONE"
--     ELSE IF MovesEpoch(e) /\ SaysCurrent(e) THEN IF e.commit THEN "INVALID_TXN_STATE" ELSE "NONE"
--     ELSE IF ~EndsAlike(e) THEN "INVALID_TXN_STATE"
--     ELSE IF Preparation(e) THEN "CONCURRENT_TRANSACTIONS"
--     ELSE "NONE"
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
    api_version AS `e.apiVersion`,
    provided_epoch AS `e.providedEpoch`,
    producer_epoch AS `e.producerEpoch`,
    previous_id_held AS `e.previousIdHeld`,
    status AS `e.status`,
    commit AS `e.commit`
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
                    `e.apiVersion` < 2
                  )
                  WHEN TRUE
                  THEN 'INVALID_PRODUCER_EPOCH'
                  WHEN FALSE
                  THEN 'PRODUCER_FENCED'
                  ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
                END
              ),
              then_3 -> TRY_ELEMENT_AT(
                TRANSFORM(
                  ARRAY(
                    TRY_ELEMENT_AT(
                      TRANSFORM(
                        ARRAY(
                          CASE (
                              `e.apiVersion` >= 5
                              AND (
                                `e.providedId` = `e.producerId` AND `e.providedEpoch` = `e.producerEpoch`
                              )
                            )
                            WHEN TRUE
                            THEN CASE `e.commit`
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
                              WHEN CASE `e.commit`
                                WHEN TRUE
                                THEN 'INVALID_TXN_STATE'
                                WHEN FALSE
                                THEN 'NONE'
                                ELSE CASE WHEN 'INVALID_TXN_STATE' = 'NONE' THEN 'INVALID_TXN_STATE' END
                              END = CASE (
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
                              THEN CASE `e.commit`
                                WHEN TRUE
                                THEN 'INVALID_TXN_STATE'
                                WHEN FALSE
                                THEN 'NONE'
                                ELSE CASE WHEN 'INVALID_TXN_STATE' = 'NONE' THEN 'INVALID_TXN_STATE' END
                              END
                            END
                          END
                        ),
                        other_2 -> CASE (
                            `e.status` = 'Ongoing'
                          )
                          WHEN TRUE
                          THEN 'NONE'
                          WHEN FALSE
                          THEN other_2
                          ELSE CASE WHEN 'NONE' = other_2 THEN 'NONE' END
                        END
                      ),
                      1
                    )
                  ),
                  other_4 -> CASE (
                      NOT (
                        (
                          (
                            `e.providedId` = `e.producerId` AND `e.providedEpoch` = `e.producerEpoch`
                          )
                          AND NOT (
                            `e.apiVersion` >= 5 AND (
                              `e.status` = 'PrepareCommit' OR `e.status` = 'PrepareAbort'
                            )
                          )
                        )
                        OR (
                          (
                            `e.apiVersion` >= 5
                            AND (
                              (
                                `e.providedId` = `e.producerId` AND TRY_ADD(CAST(`e.providedEpoch` AS BIGINT), 1) = `e.producerEpoch`
                              )
                              OR (
                                (
                                  `e.providedId` = `e.previousIdHeld` AND `e.providedEpoch` = 32766
                                ) AND `e.producerEpoch` = 0
                              )
                            )
                          )
                          AND (
                            (
                              `e.status` = 'PrepareCommit' OR `e.status` = 'PrepareAbort'
                            )
                            OR (
                              `e.status` = 'CompleteCommit' OR `e.status` = 'CompleteAbort'
                            )
                          )
                        )
                      )
                    )
                    WHEN TRUE
                    THEN then_3
                    WHEN FALSE
                    THEN other_4
                    ELSE CASE WHEN then_3 = other_4 THEN then_3 END
                  END
                ),
                1
              )
            ),
            1
          )
        ),
        other_6 -> CASE (
            NOT `e.known`
            OR NOT (
              `e.providedId` = `e.producerId`
              OR (
                `e.apiVersion` >= 5
                AND (
                  (
                    `e.providedId` = `e.producerId` AND TRY_ADD(CAST(`e.providedEpoch` AS BIGINT), 1) = `e.producerEpoch`
                  )
                  OR (
                    (
                      `e.providedId` = `e.previousIdHeld` AND `e.providedEpoch` = 32766
                    ) AND `e.producerEpoch` = 0
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
