-- generated from BrokerKeepsItsEndTxnRule in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- BrokerKeepsItsEndTxnRule ==
--     \A e \in endTxns :
--         e.error \in {"NONE", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING",
--                     "INVALID_TXN_STATE"} =>
--             /\ \/ e.error = ShippedEndTxn(e)
--                \/ /\ e.error = "PRODUCER_FENCED"
--                   /\ e.commit /\ e.status = "CompleteAbort"
--                   /\ MovesEpoch(e) /\ SaysTheEpochBefore(e)
--             /\ e.error = "NONE" /\ MovesEpoch(e) => GivesTheRightEpoch(e)
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
    error AS `e.error`,
    known AS `e.known`,
    provided_id AS `e.providedId`,
    producer_id AS `e.producerId`,
    api_version AS `e.apiVersion`,
    provided_epoch AS `e.providedEpoch`,
    producer_epoch AS `e.producerEpoch`,
    previous_id_held AS `e.previousIdHeld`,
    status AS `e.status`,
    commit AS `e.commit`,
    returned_id AS `e.returnedId`,
    returned_epoch AS `e.returnedEpoch`
  FROM silver.end_txn_states
), judged AS (
  SELECT
    *,
    `e.error` = 'NONE'
    OR `e.error` = 'PRODUCER_FENCED'
    OR `e.error` = 'INVALID_PRODUCER_EPOCH'
    OR `e.error` = 'INVALID_PRODUCER_ID_MAPPING'
    OR `e.error` = 'INVALID_TXN_STATE' AS antecedent,
    `e.error` = TRY_ELEMENT_AT(
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
    )
    OR (
      `e.error` = 'PRODUCER_FENCED'
      AND (
        `e.commit` AND `e.status` = 'CompleteAbort'
      )
      AND (
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
    ) AS c1,
    NOT (
      `e.error` = 'NONE' AND `e.apiVersion` >= 5
    )
    OR CASE (
        (
          `e.providedId` = `e.producerId` AND TRY_ADD(CAST(`e.providedEpoch` AS BIGINT), 1) = `e.producerEpoch`
        )
        OR (
          (
            `e.providedId` = `e.previousIdHeld` AND `e.providedEpoch` = 32766
          ) AND `e.producerEpoch` = 0
        )
      )
      WHEN TRUE
      THEN `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = `e.producerEpoch`
      WHEN FALSE
      THEN CASE (
          `e.producerEpoch` >= 32766
        )
        WHEN TRUE
        THEN NOT `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = 0
        WHEN FALSE
        THEN `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = TRY_ADD(CAST(`e.producerEpoch` AS BIGINT), 1)
        ELSE CASE
          WHEN (
            NOT `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = 0
          ) = (
            `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = TRY_ADD(CAST(`e.producerEpoch` AS BIGINT), 1)
          )
          THEN NOT `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = 0
        END
      END
      ELSE CASE
        WHEN (
          `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = `e.producerEpoch`
        ) = CASE (
            `e.producerEpoch` >= 32766
          )
          WHEN TRUE
          THEN NOT `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = 0
          WHEN FALSE
          THEN `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = TRY_ADD(CAST(`e.producerEpoch` AS BIGINT), 1)
          ELSE CASE
            WHEN (
              NOT `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = 0
            ) = (
              `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = TRY_ADD(CAST(`e.producerEpoch` AS BIGINT), 1)
            )
            THEN NOT `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = 0
          END
        END
        THEN `e.returnedId` = `e.producerId` AND `e.returnedEpoch` = `e.producerEpoch`
      END
    END AS c2
  FROM frame
), weighed AS (
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
    `e.error`,
    `e.known`,
    `e.providedId`,
    `e.producerId`,
    `e.apiVersion`,
    `e.providedEpoch`,
    `e.producerEpoch`,
    `e.previousIdHeld`,
    `e.status`,
    `e.commit`,
    `e.returnedId`,
    `e.returnedEpoch`,
    NOT antecedent OR (
      c1 AND c2
    ) AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE
      WHEN antecedent AND NOT c1
      THEN '\\/ e.error = ShippedEndTxn(e) \\/ /\\ e.error = "PRODUCER_FENCED" /\\ e.commit /\\ e.status = "CompleteAbort" /\\ MovesEpoch(e) /\\ SaysTheEpochBefore(e)'
      WHEN antecedent AND NOT c2
      THEN 'e.error = "NONE" /\\ MovesEpoch(e) => GivesTheRightEpoch(e)'
    END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    request_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT(
        'topic',
        topic,
        'partition',
        `partition`,
        'partition_key',
        partition_key,
        'failed_conjunct',
        failed_conjunct,
        'e.error',
        `e.error`,
        'e.known',
        `e.known`,
        'e.providedId',
        `e.providedId`,
        'e.producerId',
        `e.producerId`,
        'e.apiVersion',
        `e.apiVersion`,
        'e.providedEpoch',
        `e.providedEpoch`,
        'e.producerEpoch',
        `e.producerEpoch`,
        'e.previousIdHeld',
        `e.previousIdHeld`,
        'e.status',
        `e.status`,
        'e.commit',
        `e.commit`,
        'e.returnedId',
        `e.returnedId`,
        'e.returnedEpoch',
        `e.returnedEpoch`
      ),
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict) THEN 'several_states' END AS reason
  FROM weighed
  GROUP BY
    cluster,
    request_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      agreed.first_state.`topic` AS topic,
      agreed.first_state.`partition` AS `partition`,
      agreed.first_state.`partition_key` AS partition_key
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(request_id AS e), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, end_txns.requested_at) AS from_time,
  COALESCE(agreed.to_time, end_txns.responded_at) AS to_time,
  CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = end_txns.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason END,
      end_txns.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`e.error` AS `e.error`,
        agreed.first_state.`e.known` AS `e.known`,
        agreed.first_state.`e.providedId` AS `e.providedId`,
        agreed.first_state.`e.producerId` AS `e.producerId`,
        agreed.first_state.`e.apiVersion` AS `e.apiVersion`,
        agreed.first_state.`e.providedEpoch` AS `e.providedEpoch`,
        agreed.first_state.`e.producerEpoch` AS `e.producerEpoch`,
        agreed.first_state.`e.previousIdHeld` AS `e.previousIdHeld`,
        agreed.first_state.`e.status` AS `e.status`,
        agreed.first_state.`e.commit` AS `e.commit`,
        agreed.first_state.`e.returnedId` AS `e.returnedId`,
        agreed.first_state.`e.returnedEpoch` AS `e.returnedEpoch`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        request_id,
        end_txns.broker_id,
        end_txns.client_id,
        end_txns.connection,
        end_txns.given_client_id,
        end_txns.given_connection,
        end_txns.transactional_id,
        end_txns.provided_id,
        end_txns.provided_epoch,
        end_txns.commit,
        end_txns.error,
        end_txns.returned_id,
        end_txns.returned_epoch,
        end_txns.record_offset,
        end_txns.candidates,
        end_txns.unknown_detail,
        end_txns.file,
        end_txns.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.end_txns AS end_txns
FULL OUTER JOIN agreed
  USING (cluster, request_id)
