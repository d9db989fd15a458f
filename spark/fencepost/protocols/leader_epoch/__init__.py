"""Leader epochs and incarnations of topics (KIP-232, KIP-320, KIP-516): logs and requests, replayed.

* ``cluster``: the history that a metadata log tells from its first record to its last, with elections
  (``elections``) and KIP-232's partition epochs; ``metadata_rows`` and ``broker_fencings`` make its rows.
* ``partition_logs``: the batches of a partition's own log, the records that it lost, its checkpoints, and the
  offsets that replicas truncated (``truncations``); ``partition_rows`` makes its rows.
* ``clocks``: the range of the metadata log to which a time on a broker's clock may belong, by events whose
  order is certain (``admin``, ``orders``); ``live_partitions``: the incarnations that lived in such a range.
* ``clients``: the replay of one client instance after another (``instances``) by its request ``lines``: the
  answers that it got (``answers``), its cache (``client_cache``), the offsets that it fetches and commits.
* ``commits`` and ``committed_offset_rows``: stored offsets, with the requests that committed them;
  ``fencings``: refused requests.

Nothing is concluded from missing evidence: behind a hole, or the end of a log, nothing is known. ``rebuild``
spreads all steps over an engine.
"""
