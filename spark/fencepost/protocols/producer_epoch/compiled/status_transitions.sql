-- generated from StatusTransitions in spec/producer_epoch/TransactionLogRules.tla by `tlasql compile`; do not edit
--
-- StatusTransitions ==
--     \A t \in DOMAIN status \cap DOMAIN status' :
--         status'[t] # status[t] =>
--             \/ status[t] \in {"CompleteCommit", "CompleteAbort"} /\ status'[t] = "Empty"
--             \/ status[t] \in {"Empty", "CompleteCommit", "CompleteAbort"} /\ status'[t] = "Ongoing"
--             \/ status[t] = "Ongoing" /\ status'[t] = "PrepareCommit"
--             \/ status[t] \in {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"} /\ status'[t] = "PrepareAbort"
--             \/ status[t] = "PrepareCommit" /\ status'[t] = "CompleteCommit"
--             \/ status[t] = "PrepareAbort" /\ status'[t] = "CompleteAbort"
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    transactional_id AS t,
    status AS `status[t]`,
    LEAD(status) OVER successive AS `status'[t]`,
    TO_JSON(
      STRUCT(transactional_id, previous_producer_id, cause, caused_by_client_id, caused_by_connection),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.transactional_ids
  WINDOW successive AS (PARTITION BY cluster, topic, `partition`, partition_key, transactional_id ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `status'[t]` = `status[t]` AS unchanged,
    NOT `status'[t]` = `status[t]` AS antecedent,
    (
      (
        `status[t]` = 'CompleteCommit' OR `status[t]` = 'CompleteAbort'
      ) AND `status'[t]` = 'Empty'
    )
    OR (
      (
        `status[t]` = 'Empty' OR `status[t]` = 'CompleteCommit' OR `status[t]` = 'CompleteAbort'
      )
      AND `status'[t]` = 'Ongoing'
    )
    OR (
      `status[t]` = 'Ongoing' AND `status'[t]` = 'PrepareCommit'
    )
    OR (
      (
        `status[t]` = 'Ongoing'
        OR `status[t]` = 'Empty'
        OR `status[t]` = 'CompleteCommit'
        OR `status[t]` = 'CompleteAbort'
      )
      AND `status'[t]` = 'PrepareAbort'
    )
    OR (
      `status[t]` = 'PrepareCommit' AND `status'[t]` = 'CompleteCommit'
    )
    OR (
      `status[t]` = 'PrepareAbort' AND `status'[t]` = 'CompleteAbort'
    ) AS c1
  FROM frame
  WHERE
    next_from_position = to_position
    AND NOT cluster IS NULL
    AND NOT topic IS NULL
    AND NOT `partition` IS NULL
    AND NOT partition_key IS NULL
    AND NOT t IS NULL
), weighed AS (
  SELECT
    *,
    unchanged OR (
      NOT antecedent OR c1
    ) AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(t), MAP('ignoreNullFields', 'false')) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(antecedent AND NOT unchanged, FALSE) AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE
      WHEN antecedent AND NOT c1
      THEN '\\/ status[t] \\in {"CompleteCommit", "CompleteAbort"} /\\ status\'[t] = "Empty" \\/ status[t] \\in {"Empty", "CompleteCommit", "CompleteAbort"} /\\ status\'[t] = "Ongoing" \\/ status[t] = "Ongoing" /\\ status\'[t] = "PrepareCommit" \\/ status[t] \\in {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"} /\\ status\'[t] = "PrepareAbort" \\/ status[t] = "PrepareCommit" /\\ status\'[t] = "CompleteCommit" \\/ status[t] = "PrepareAbort" /\\ status\'[t] = "CompleteAbort"'
    END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`status[t]`, `status'[t]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.log_coverage
WHERE
  (
    NOT COALESCE(covered, FALSE)
    OR from_position IS NULL
    OR cluster IS NULL
    OR topic IS NULL
    OR `partition` IS NULL
    OR partition_key IS NULL
  )
  AND (
    topic = '__transaction_state' OR topic IS NULL
  )
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.transactional_ids
WHERE
  from_position IS NULL
  OR transactional_id IS NULL
  OR cluster IS NULL
  OR topic IS NULL
  OR `partition` IS NULL
  OR partition_key IS NULL
