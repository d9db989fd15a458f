-- generated from ProposedError in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- ProposedError(c) == IF MemberRevocation(c) /\ ~TooOld(c) THEN "NONE" ELSE RefusedWith(c)
WITH frame AS (
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
    unfenced AS `c.unfenced`,
    member_known AS `c.memberKnown`,
    revocation_epoch AS `c.revocationEpoch`,
    client_epoch AS `c.clientEpoch`,
    member_epoch AS `c.memberEpoch`,
    `rule` AS `c.rule`,
    transactional AS `c.transactional`,
    classic_member AS `c.classicMember`,
    api_version AS `c.apiVersion`,
    group_known AS `c.groupKnown`,
    instance_fenced AS `c.instanceFenced`
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    TRY_ELEMENT_AT(
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
            (
              `c.unfenced`
              OR (
                `c.memberKnown` AND `c.revocationEpoch` < `c.clientEpoch` AND `c.clientEpoch` <= `c.memberEpoch`
              )
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
    ) AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE
      WHEN MIN(c1) < MAX(c1)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1 IS NULL THEN CASE WHEN `c.groupKnown` IS NULL THEN 'not_logged' END END)
    END AS reason
  FROM judged
  GROUP BY
    cluster,
    commit_id
)
SELECT
  cluster,
  commit_id AS subject,
  CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason END,
      offset_commits.unknown_reason,
      'not_captured'
    )
  END AS reason
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
