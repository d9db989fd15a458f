-- generated from ShippedFetchRule in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- ShippedFetchRule(f) ==
--     IF f.byId /\ f.topicId # f.liveTopicId THEN "UNKNOWN_TOPIC_ID"
--     ELSE IF f.liveLeaderEpoch = -1 THEN "UNKNOWN_TOPIC_OR_PARTITION"
--     ELSE IF f.currentLeaderEpoch = -1 THEN "NONE"
--     ELSE IF f.currentLeaderEpoch < f.liveLeaderEpoch THEN "FENCED_LEADER_EPOCH"
--     ELSE IF f.currentLeaderEpoch > f.liveLeaderEpoch THEN "UNKNOWN_LEADER_EPOCH"
--     ELSE "NONE"
WITH frame AS (
  SELECT
    cluster,
    log,
    fetch_position_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    by_id AS `f.byId`,
    asked_topic_id AS `f.topicId`,
    live_topic_id AS `f.liveTopicId`,
    live_leader_epoch AS `f.liveLeaderEpoch`,
    current_leader_epoch AS `f.currentLeaderEpoch`
  FROM silver.fetch_position_states
), judged AS (
  SELECT
    *,
    TRY_ELEMENT_AT(
      TRANSFORM(
        ARRAY(
          CASE (
              `f.liveLeaderEpoch` = -1
            )
            WHEN TRUE
            THEN 'UNKNOWN_TOPIC_OR_PARTITION'
            WHEN FALSE
            THEN CASE (
                `f.currentLeaderEpoch` = -1
              )
              WHEN TRUE
              THEN 'NONE'
              WHEN FALSE
              THEN CASE (
                  `f.currentLeaderEpoch` < `f.liveLeaderEpoch`
                )
                WHEN TRUE
                THEN 'FENCED_LEADER_EPOCH'
                WHEN FALSE
                THEN CASE (
                    `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                  )
                  WHEN TRUE
                  THEN 'UNKNOWN_LEADER_EPOCH'
                  WHEN FALSE
                  THEN 'NONE'
                  ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                END
                ELSE CASE
                  WHEN 'FENCED_LEADER_EPOCH' = CASE (
                      `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                    )
                    WHEN TRUE
                    THEN 'UNKNOWN_LEADER_EPOCH'
                    WHEN FALSE
                    THEN 'NONE'
                    ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                  END
                  THEN 'FENCED_LEADER_EPOCH'
                END
              END
              ELSE CASE
                WHEN 'NONE' = CASE (
                    `f.currentLeaderEpoch` < `f.liveLeaderEpoch`
                  )
                  WHEN TRUE
                  THEN 'FENCED_LEADER_EPOCH'
                  WHEN FALSE
                  THEN CASE (
                      `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                    )
                    WHEN TRUE
                    THEN 'UNKNOWN_LEADER_EPOCH'
                    WHEN FALSE
                    THEN 'NONE'
                    ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                  END
                  ELSE CASE
                    WHEN 'FENCED_LEADER_EPOCH' = CASE (
                        `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                      )
                      WHEN TRUE
                      THEN 'UNKNOWN_LEADER_EPOCH'
                      WHEN FALSE
                      THEN 'NONE'
                      ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                    END
                    THEN 'FENCED_LEADER_EPOCH'
                  END
                END
                THEN 'NONE'
              END
            END
            ELSE CASE
              WHEN 'UNKNOWN_TOPIC_OR_PARTITION' = CASE (
                  `f.currentLeaderEpoch` = -1
                )
                WHEN TRUE
                THEN 'NONE'
                WHEN FALSE
                THEN CASE (
                    `f.currentLeaderEpoch` < `f.liveLeaderEpoch`
                  )
                  WHEN TRUE
                  THEN 'FENCED_LEADER_EPOCH'
                  WHEN FALSE
                  THEN CASE (
                      `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                    )
                    WHEN TRUE
                    THEN 'UNKNOWN_LEADER_EPOCH'
                    WHEN FALSE
                    THEN 'NONE'
                    ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                  END
                  ELSE CASE
                    WHEN 'FENCED_LEADER_EPOCH' = CASE (
                        `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                      )
                      WHEN TRUE
                      THEN 'UNKNOWN_LEADER_EPOCH'
                      WHEN FALSE
                      THEN 'NONE'
                      ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                    END
                    THEN 'FENCED_LEADER_EPOCH'
                  END
                END
                ELSE CASE
                  WHEN 'NONE' = CASE (
                      `f.currentLeaderEpoch` < `f.liveLeaderEpoch`
                    )
                    WHEN TRUE
                    THEN 'FENCED_LEADER_EPOCH'
                    WHEN FALSE
                    THEN CASE (
                        `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                      )
                      WHEN TRUE
                      THEN 'UNKNOWN_LEADER_EPOCH'
                      WHEN FALSE
                      THEN 'NONE'
                      ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                    END
                    ELSE CASE
                      WHEN 'FENCED_LEADER_EPOCH' = CASE (
                          `f.currentLeaderEpoch` > `f.liveLeaderEpoch`
                        )
                        WHEN TRUE
                        THEN 'UNKNOWN_LEADER_EPOCH'
                        WHEN FALSE
                        THEN 'NONE'
                        ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                      END
                      THEN 'FENCED_LEADER_EPOCH'
                    END
                  END
                  THEN 'NONE'
                END
              END
              THEN 'UNKNOWN_TOPIC_OR_PARTITION'
            END
          END
        ),
        other_2 -> CASE (
            `f.byId` AND NOT `f.topicId` = `f.liveTopicId`
          )
          WHEN TRUE
          THEN 'UNKNOWN_TOPIC_ID'
          WHEN FALSE
          THEN other_2
          ELSE CASE WHEN 'UNKNOWN_TOPIC_ID' = other_2 THEN 'UNKNOWN_TOPIC_ID' END
        END
      ),
      1
    ) AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    fetch_position_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE
      WHEN MIN(c1) < MAX(c1)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1 IS NULL THEN CASE WHEN `f.currentLeaderEpoch` IS NULL THEN 'client_unknown' END END)
    END AS reason
  FROM judged
  GROUP BY
    cluster,
    fetch_position_id
)
SELECT
  cluster,
  fetch_position_id AS subject,
  CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.reason END,
      fetch_positions.live_unknown,
      'topic_unknown'
    )
  END AS reason
FROM silver.fetch_positions AS fetch_positions
FULL OUTER JOIN agreed
  USING (cluster, fetch_position_id)
