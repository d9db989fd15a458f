"""Producer epochs and transactions (KIP-360, KIP-890): logs and requests, replayed as Kafka does.

Three kinds of log are each replayed alone, and a last step compares them:

* ``producer_requests``: the request log, with one row for each target of a request and its answer.
* ``partitions``: a partition's log (``partition_log``, ``partition_slice``), by Kafka's ProducerStateManager
  (``producer_state``), compared with its snapshots (``snapshots``).
* ``coordinators``: a partition of ``__transaction_state`` (``transaction_state_manager``): its records
  (``transaction_log``), the state of each transactional id (``transaction_metadata``), the request that wrote
  each record (``causes``), transactions, the states that requests met (``states_met``, ``decided``), and
  fenced producers (``refusals``, ``fencings``).
* ``comparison``: the transactions that partitions hold and those that coordinators list, compared by producer
  id; the markers that are due (``markers_due``), and what was in flight when a producer was fenced
  (``in_flight``). ``facts`` has what every task must know of all logs.

The replay of a log writes an ``account`` for the last step. ``rebuild`` spreads all steps over an engine.
"""
