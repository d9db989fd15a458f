"""Producer epochs and transactions (KIP-360, KIP-890): what logs and requests tell, replayed as Kafka does.

Three kinds of log machine, each with one reason to exist, and where they meet:

* ``producer_requests``: a request line's things named and answered.
* ``partitions``: a partition's log (``partition_log``, ``partition_slice``), by Kafka's ProducerStateManager
  (``producer_state``); its snapshots beside it (``snapshots``).
* ``coordinators``: a partition of ``__transaction_state`` (``transaction_state_manager``): its records
  (``transaction_log``), what each transactional id was (``transaction_metadata``), who wrote what
  (``causes``), transactions, the states that InitProducerId met (``states_met``, ``init_producer_ids``), and
  who was fenced (``refusals``, ``fencings``).
* ``meeting``: by producer id, what partitions hold and coordinators list, the markers that are due
  (``markers_due``), what was in flight (``in_flight``); ``facts`` is what all need to know.

What a log tells the others is its ``account``. ``rebuild`` spreads all of it over an engine.
"""
