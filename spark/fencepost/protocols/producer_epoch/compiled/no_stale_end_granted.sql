-- generated from NoStaleEndGranted in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- NoStaleEndGranted ==
--     \A e \in endTxns : Kip890EndTxn(e) \in {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"} => e.error # "NONE"
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
    last_epoch AS `e.lastEpoch`,
    error AS `e.error`
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
    ) = 'PRODUCER_FENCED'
    OR TRY_ELEMENT_AT(
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
              then_5 -> TRY_ELEMENT_AT(
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
                  other_6 -> CASE (
                      `e.providedId` = `e.producerId` AND `e.providedEpoch` = `e.producerEpoch`
                    )
                    WHEN TRUE
                    THEN then_5
                    WHEN FALSE
                    THEN other_6
                    ELSE CASE WHEN then_5 = other_6 THEN then_5 END
                  END
                ),
                1
              )
            ),
            1
          )
        ),
        other_8 -> CASE (
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
          THEN other_8
          ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = other_8 THEN 'INVALID_PRODUCER_ID_MAPPING' END
        END
      ),
      1
    ) = 'INVALID_PRODUCER_EPOCH' AS antecedent,
    NOT `e.error` = 'NONE' AS c1
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
    `e.known`,
    `e.providedId`,
    `e.producerId`,
    `e.previousId`,
    `e.providedEpoch`,
    `e.producerEpoch`,
    `e.status`,
    `e.commit`,
    `e.apiVersion`,
    `e.lastEpoch`,
    `e.error`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'e.error # "NONE"' END AS failed_conjunct
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
        'e.known',
        `e.known`,
        'e.providedId',
        `e.providedId`,
        'e.producerId',
        `e.producerId`,
        'e.previousId',
        `e.previousId`,
        'e.providedEpoch',
        `e.providedEpoch`,
        'e.producerEpoch',
        `e.producerEpoch`,
        'e.status',
        `e.status`,
        'e.commit',
        `e.commit`,
        'e.apiVersion',
        `e.apiVersion`,
        'e.lastEpoch',
        `e.lastEpoch`,
        'e.error',
        `e.error`
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
        agreed.first_state.`e.known` AS `e.known`,
        agreed.first_state.`e.providedId` AS `e.providedId`,
        agreed.first_state.`e.producerId` AS `e.producerId`,
        agreed.first_state.`e.previousId` AS `e.previousId`,
        agreed.first_state.`e.providedEpoch` AS `e.providedEpoch`,
        agreed.first_state.`e.producerEpoch` AS `e.producerEpoch`,
        agreed.first_state.`e.status` AS `e.status`,
        agreed.first_state.`e.commit` AS `e.commit`,
        agreed.first_state.`e.apiVersion` AS `e.apiVersion`,
        agreed.first_state.`e.lastEpoch` AS `e.lastEpoch`,
        agreed.first_state.`e.error` AS `e.error`
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
