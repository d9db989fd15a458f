-- generated from BrokerNamesItsError in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- BrokerNamesItsError ==
--     \A c \in commits : c.fenced \/ (c.error = "UNSUPPORTED_VERSION" /\ ~c.transactional) => c.error = ShippedError(c)
WITH quantified_1_rows AS (
  SELECT
    cluster,
    request_id,
    candidate,
    accepted AS `d.accepted`,
    fenced AS `d.fenced`,
    unfenced AS `d.unfenced`,
    member_known AS `d.memberKnown`,
    client_epoch AS `d.clientEpoch`,
    member_epoch AS `d.memberEpoch`,
    assignment_epoch AS `d.assignmentEpoch`
  FROM silver.offset_commit_states
), quantified_1_judged AS (
  SELECT
    cluster,
    request_id,
    candidate,
    (
      NOT `d.accepted` AND NOT `d.fenced`
    )
    OR (
      `d.unfenced`
      OR (
        `d.memberKnown`
        AND (
          `d.clientEpoch` = `d.memberEpoch`
          OR (
            `d.clientEpoch` < `d.memberEpoch`
            AND `d.assignmentEpoch` >= 0
            AND `d.assignmentEpoch` <= `d.clientEpoch`
          )
        )
      )
    ) AS predicate
  FROM quantified_1_rows
), quantified_1_lost AS (
  SELECT DISTINCT
    cluster,
    TRUE AS lost
  FROM silver.offset_commits
  WHERE
    cluster IS NULL OR request_id IS NULL
), quantified_1_expected AS (
  SELECT
    offset_commits.cluster,
    offset_commits.request_id,
    COUNT(*) AS expected
  FROM silver.offset_commits AS offset_commits
  LEFT JOIN quantified_1_lost
    ON quantified_1_lost.cluster IS NULL OR offset_commits.cluster = quantified_1_lost.cluster
  WHERE
    quantified_1_lost.lost IS NULL
  GROUP BY
    offset_commits.cluster,
    offset_commits.request_id
), quantified_1 AS (
  SELECT
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate,
    CASE
      WHEN BOOL_OR(NOT quantified_1_judged.predicate)
      THEN FALSE
      WHEN COUNT(*) = MAX(quantified_1_expected.expected)
      AND BOOL_AND(NOT quantified_1_judged.predicate IS NULL)
      THEN TRUE
    END AS holds
  FROM quantified_1_judged
  LEFT JOIN quantified_1_expected
    ON quantified_1_judged.cluster = quantified_1_expected.cluster
    AND quantified_1_judged.request_id = quantified_1_expected.request_id
  GROUP BY
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate
), frame AS (
  SELECT
    offset_commit_states.cluster,
    offset_commit_states.group_id,
    offset_commit_states.life,
    offset_commit_states.commit_id,
    offset_commit_states.candidate,
    offset_commit_states.from_position,
    offset_commit_states.to_position,
    offset_commit_states.from_time,
    offset_commit_states.to_time,
    offset_commit_states.fenced AS `c.fenced`,
    offset_commit_states.error AS `c.error`,
    offset_commit_states.transactional AS `c.transactional`,
    offset_commit_states.`rule` AS `c.rule`,
    offset_commit_states.unfenced AS `c.unfenced`,
    offset_commit_states.member_known AS `c.memberKnown`,
    offset_commit_states.client_epoch AS `c.clientEpoch`,
    offset_commit_states.member_epoch AS `c.memberEpoch`,
    offset_commit_states.rebalancing AS `c.rebalancing`,
    offset_commit_states.assignment_epoch AS `c.assignmentEpoch`,
    offset_commit_states.classic_member AS `c.classicMember`,
    offset_commit_states.api_version AS `c.apiVersion`,
    offset_commit_states.group_known AS `c.groupKnown`,
    offset_commit_states.instance_fenced AS `c.instanceFenced`,
    quantified_1.holds AS `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
  FROM silver.offset_commit_states AS offset_commit_states
  LEFT JOIN quantified_1
    ON offset_commit_states.cluster = quantified_1.cluster
    AND offset_commit_states.request_id = quantified_1.request_id
    AND offset_commit_states.candidate = quantified_1.candidate
), judged AS (
  SELECT
    *,
    `c.fenced` OR (
      `c.error` = 'UNSUPPORTED_VERSION' AND NOT `c.transactional`
    ) AS antecedent,
    `c.error` = TRY_ELEMENT_AT(
      TRANSFORM(
        ARRAY(
          TRY_ELEMENT_AT(
            TRANSFORM(
              ARRAY(
                TRY_ELEMENT_AT(
                  TRANSFORM(
                    ARRAY(
                      CASE (
                          `c.apiVersion` >= CASE `c.transactional` WHEN TRUE THEN 6 WHEN FALSE THEN 9 ELSE CASE WHEN 6 = 9 THEN 6 END END
                        )
                        WHEN TRUE
                        THEN 'GROUP_ID_NOT_FOUND'
                        WHEN FALSE
                        THEN 'ILLEGAL_GENERATION'
                        ELSE CASE WHEN 'GROUP_ID_NOT_FOUND' = 'ILLEGAL_GENERATION' THEN 'GROUP_ID_NOT_FOUND' END
                      END
                    ),
                    then_5 -> TRY_ELEMENT_AT(
                      TRANSFORM(
                        ARRAY(
                          TRY_ELEMENT_AT(
                            TRANSFORM(
                              ARRAY(
                                TRY_ELEMENT_AT(
                                  TRANSFORM(
                                    ARRAY(
                                      CASE (
                                          NOT `c.unfenced`
                                          AND NOT `c.rule` = 'generation'
                                          AND NOT `c.transactional`
                                          AND NOT `c.classicMember`
                                          AND `c.apiVersion` < 9
                                        )
                                        WHEN TRUE
                                        THEN 'UNSUPPORTED_VERSION'
                                        WHEN FALSE
                                        THEN CASE (
                                            `c.rule` = 'generation' AND `c.clientEpoch` = `c.memberEpoch`
                                          )
                                          WHEN TRUE
                                          THEN 'REBALANCE_IN_PROGRESS'
                                          WHEN FALSE
                                          THEN CASE (
                                              (
                                                `c.rule` = 'generation' OR `c.classicMember`
                                              ) OR (
                                                `c.transactional` AND `c.apiVersion` < 6
                                              )
                                            )
                                            WHEN TRUE
                                            THEN 'ILLEGAL_GENERATION'
                                            WHEN FALSE
                                            THEN 'STALE_MEMBER_EPOCH'
                                            ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
                                          END
                                          ELSE CASE
                                            WHEN 'REBALANCE_IN_PROGRESS' = CASE (
                                                (
                                                  `c.rule` = 'generation' OR `c.classicMember`
                                                ) OR (
                                                  `c.transactional` AND `c.apiVersion` < 6
                                                )
                                              )
                                              WHEN TRUE
                                              THEN 'ILLEGAL_GENERATION'
                                              WHEN FALSE
                                              THEN 'STALE_MEMBER_EPOCH'
                                              ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
                                            END
                                            THEN 'REBALANCE_IN_PROGRESS'
                                          END
                                        END
                                        ELSE CASE
                                          WHEN 'UNSUPPORTED_VERSION' = CASE (
                                              `c.rule` = 'generation' AND `c.clientEpoch` = `c.memberEpoch`
                                            )
                                            WHEN TRUE
                                            THEN 'REBALANCE_IN_PROGRESS'
                                            WHEN FALSE
                                            THEN CASE (
                                                (
                                                  `c.rule` = 'generation' OR `c.classicMember`
                                                ) OR (
                                                  `c.transactional` AND `c.apiVersion` < 6
                                                )
                                              )
                                              WHEN TRUE
                                              THEN 'ILLEGAL_GENERATION'
                                              WHEN FALSE
                                              THEN 'STALE_MEMBER_EPOCH'
                                              ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
                                            END
                                            ELSE CASE
                                              WHEN 'REBALANCE_IN_PROGRESS' = CASE (
                                                  (
                                                    `c.rule` = 'generation' OR `c.classicMember`
                                                  ) OR (
                                                    `c.transactional` AND `c.apiVersion` < 6
                                                  )
                                                )
                                                WHEN TRUE
                                                THEN 'ILLEGAL_GENERATION'
                                                WHEN FALSE
                                                THEN 'STALE_MEMBER_EPOCH'
                                                ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
                                              END
                                              THEN 'REBALANCE_IN_PROGRESS'
                                            END
                                          END
                                          THEN 'UNSUPPORTED_VERSION'
                                        END
                                      END
                                    ),
                                    other_2 -> CASE (
                                        NOT `c.memberKnown`
                                      )
                                      WHEN TRUE
                                      THEN 'UNKNOWN_MEMBER_ID'
                                      WHEN FALSE
                                      THEN other_2
                                      ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = other_2 THEN 'UNKNOWN_MEMBER_ID' END
                                    END
                                  ),
                                  1
                                )
                              ),
                              other_4 -> CASE (
                                  `c.rule` = 'generation' AND `c.instanceFenced`
                                )
                                WHEN TRUE
                                THEN 'FENCED_INSTANCE_ID'
                                WHEN FALSE
                                THEN other_4
                                ELSE CASE WHEN 'FENCED_INSTANCE_ID' = other_4 THEN 'FENCED_INSTANCE_ID' END
                              END
                            ),
                            1
                          )
                        ),
                        other_6 -> CASE (
                            NOT `c.groupKnown`
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
                  `c.rule` = 'none_accepted'
                )
                WHEN TRUE
                THEN 'GROUP_ID_NOT_FOUND'
                WHEN FALSE
                THEN other_8
                ELSE CASE WHEN 'GROUP_ID_NOT_FOUND' = other_8 THEN 'GROUP_ID_NOT_FOUND' END
              END
            ),
            1
          )
        ),
        other_10 -> CASE (
            TRY_ELEMENT_AT(
              TRANSFORM(
                ARRAY(
                  `c.unfenced`
                  OR (
                    `c.memberKnown`
                    AND `c.clientEpoch` = `c.memberEpoch`
                    AND (
                      `c.transactional` OR NOT `c.rebalancing`
                    )
                  )
                ),
                then_13 -> TRY_ELEMENT_AT(
                  TRANSFORM(
                    ARRAY(
                      TRY_ELEMENT_AT(
                        TRANSFORM(
                          ARRAY(`c.unfenced` OR (
                            `c.memberKnown` AND `c.clientEpoch` = `c.memberEpoch`
                          )),
                          then_11 -> TRY_ELEMENT_AT(
                            TRANSFORM(
                              ARRAY(
                                CASE (
                                    `c.rule` = 'assignment_epoch'
                                  )
                                  WHEN TRUE
                                  THEN (
                                    `c.unfenced`
                                    OR (
                                      `c.memberKnown`
                                      AND (
                                        `c.clientEpoch` = `c.memberEpoch`
                                        OR (
                                          `c.clientEpoch` < `c.memberEpoch`
                                          AND `c.assignmentEpoch` >= 0
                                          AND `c.assignmentEpoch` <= `c.clientEpoch`
                                        )
                                      )
                                    )
                                  )
                                  AND `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
                                  WHEN FALSE
                                  THEN CASE (
                                    `c.rule` = 'none_accepted'
                                  ) WHEN TRUE THEN FALSE WHEN FALSE THEN CAST(NULL AS BOOLEAN) END
                                  ELSE CASE
                                    WHEN (
                                      (
                                        `c.unfenced`
                                        OR (
                                          `c.memberKnown`
                                          AND (
                                            `c.clientEpoch` = `c.memberEpoch`
                                            OR (
                                              `c.clientEpoch` < `c.memberEpoch`
                                              AND `c.assignmentEpoch` >= 0
                                              AND `c.assignmentEpoch` <= `c.clientEpoch`
                                            )
                                          )
                                        )
                                      )
                                      AND `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
                                    ) = CASE (
                                      `c.rule` = 'none_accepted'
                                    ) WHEN TRUE THEN FALSE WHEN FALSE THEN CAST(NULL AS BOOLEAN) END
                                    THEN (
                                      `c.unfenced`
                                      OR (
                                        `c.memberKnown`
                                        AND (
                                          `c.clientEpoch` = `c.memberEpoch`
                                          OR (
                                            `c.clientEpoch` < `c.memberEpoch`
                                            AND `c.assignmentEpoch` >= 0
                                            AND `c.assignmentEpoch` <= `c.clientEpoch`
                                          )
                                        )
                                      )
                                    )
                                    AND `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
                                  END
                                END
                              ),
                              other_12 -> CASE (
                                  `c.rule` = 'strict'
                                )
                                WHEN TRUE
                                THEN then_11
                                WHEN FALSE
                                THEN other_12
                                ELSE CASE WHEN then_11 = other_12 THEN then_11 END
                              END
                            ),
                            1
                          )
                        ),
                        1
                      )
                    ),
                    other_14 -> CASE (
                        `c.rule` = 'generation'
                      )
                      WHEN TRUE
                      THEN then_13
                      WHEN FALSE
                      THEN other_14
                      ELSE CASE WHEN then_13 = other_14 THEN then_13 END
                    END
                  ),
                  1
                )
              ),
              1
            )
            AND NOT (
              NOT `c.unfenced`
              AND NOT `c.rule` = 'generation'
              AND NOT `c.transactional`
              AND NOT `c.classicMember`
              AND `c.apiVersion` < 9
            )
          )
          WHEN TRUE
          THEN 'NONE'
          WHEN FALSE
          THEN other_10
          ELSE CASE WHEN 'NONE' = other_10 THEN 'NONE' END
        END
      ),
      1
    ) AS c1,
    NOT (
      `c.fenced` OR (
        `c.error` = 'UNSUPPORTED_VERSION' AND NOT `c.transactional`
      )
    )
    OR (
      `c.rule` = 'generation'
      OR (
        `c.rule` = 'strict'
        OR (
          `c.rule` = 'assignment_epoch' OR (
            `c.rule` = 'none_accepted' OR FALSE
          )
        )
      )
    ) AS evaluates
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    commit_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    `c.fenced`,
    `c.error`,
    `c.transactional`,
    `c.rule`,
    `c.unfenced`,
    `c.memberKnown`,
    `c.clientEpoch`,
    `c.memberEpoch`,
    `c.rebalancing`,
    `c.assignmentEpoch`,
    `c.classicMember`,
    `c.apiVersion`,
    `c.groupKnown`,
    `c.instanceFenced`,
    `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`,
    evaluates,
    CASE WHEN evaluates THEN NOT antecedent OR c1 END AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'c.error = ShippedError(c)' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    commit_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT(
        'group_id',
        group_id,
        'life',
        life,
        'failed_conjunct',
        failed_conjunct,
        'c.fenced',
        `c.fenced`,
        'c.error',
        `c.error`,
        'c.transactional',
        `c.transactional`,
        'c.rule',
        `c.rule`,
        'c.unfenced',
        `c.unfenced`,
        'c.memberKnown',
        `c.memberKnown`,
        'c.clientEpoch',
        `c.clientEpoch`,
        'c.memberEpoch',
        `c.memberEpoch`,
        'c.rebalancing',
        `c.rebalancing`,
        'c.assignmentEpoch',
        `c.assignmentEpoch`,
        'c.classicMember',
        `c.classicMember`,
        'c.apiVersion',
        `c.apiVersion`,
        'c.groupKnown',
        `c.groupKnown`,
        'c.instanceFenced',
        `c.instanceFenced`,
        '\\A d \\in commits : d.request = c.request => (~d.accepted /\\ ~d.fenced) \\/ (d.unfenced \\/ (d.memberKnown /\\ (d.clientEpoch = d.memberEpoch \\/ (d.clientEpoch < d.memberEpoch /\\ d.assignmentEpoch >= 0 /\\ d.assignmentEpoch <= d.clientEpoch))))',
        `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
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
    CASE
      WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN verdict IS NULL
          THEN CASE WHEN NOT evaluates THEN 'no_value' WHEN `c.groupKnown` IS NULL THEN 'not_logged' END
        END
      )
    END AS reason
  FROM weighed
  GROUP BY
    cluster,
    commit_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`group_id`, offset_commits.group_id) AS group_id,
      agreed.first_state.`life` AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(commit_id AS c), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, offset_commits.requested_at) AS from_time,
  COALESCE(agreed.to_time, offset_commits.responded_at) AS to_time,
  CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = offset_commits.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason END,
      offset_commits.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`c.fenced` AS `c.fenced`,
        agreed.first_state.`c.error` AS `c.error`,
        agreed.first_state.`c.transactional` AS `c.transactional`,
        agreed.first_state.`c.rule` AS `c.rule`,
        agreed.first_state.`c.unfenced` AS `c.unfenced`,
        agreed.first_state.`c.memberKnown` AS `c.memberKnown`,
        agreed.first_state.`c.clientEpoch` AS `c.clientEpoch`,
        agreed.first_state.`c.memberEpoch` AS `c.memberEpoch`,
        agreed.first_state.`c.rebalancing` AS `c.rebalancing`,
        agreed.first_state.`c.assignmentEpoch` AS `c.assignmentEpoch`,
        agreed.first_state.`c.classicMember` AS `c.classicMember`,
        agreed.first_state.`c.apiVersion` AS `c.apiVersion`,
        agreed.first_state.`c.groupKnown` AS `c.groupKnown`,
        agreed.first_state.`c.instanceFenced` AS `c.instanceFenced`,
        agreed.first_state.`\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))` AS `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        commit_id,
        offset_commits.request_id,
        offset_commits.broker_id,
        offset_commits.member_id,
        offset_commits.client_id,
        offset_commits.topic,
        offset_commits.`partition`,
        offset_commits.client_epoch,
        offset_commits.committed_offset,
        offset_commits.broker_error,
        offset_commits.record_offset,
        offset_commits.candidates,
        offset_commits.unknown_detail,
        offset_commits.file,
        offset_commits.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
