-- generated from TransactionEndedByItsProducer in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- TransactionEndedByItsProducer == \A e \in endTxns : e.error = "NONE" /\ e.status = "Ongoing" => ~e.byAnother
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
    status AS `e.status`,
    by_another AS `e.byAnother`
  FROM silver.end_txn_states
), judged AS (
  SELECT
    *,
    `e.error` = 'NONE' AND `e.status` = 'Ongoing' AS antecedent,
    NOT `e.byAnother` AS c1
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
    `e.status`,
    `e.byAnother`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~e.byAnother' END AS failed_conjunct
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
        'e.status',
        `e.status`,
        'e.byAnother',
        `e.byAnother`
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
      ELSE MIN(CASE WHEN verdict IS NULL THEN CASE WHEN `e.byAnother` IS NULL THEN 'client_unknown' END END)
    END AS reason
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
        agreed.first_state.`e.status` AS `e.status`,
        agreed.first_state.`e.byAnother` AS `e.byAnother`
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
