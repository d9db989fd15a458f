"""Leader epochs and incarnations of topics (KIP-232, KIP-320, KIP-516): logs and requests, replayed.

* ``cluster``: a metadata log from its first record to its last, with elections (``elections``) and KIP-232's
  partition epochs; ``metadata_rows`` and ``broker_fencings`` make its rows.
* ``partition_logs``: batches, losses and checkpoints of a partition's own log, and what replicas truncated
  (``truncations``); ``partition_rows`` makes its rows.
* ``clocks``: the range of the metadata log to which a time on a broker's clock may belong, by events whose
  order is certain (``admin``, ``orders``); ``live``: the incarnations that lived in such a range.
* ``clients``: one client instance after another (``instances``), by its ``lines``: the answers that it got
  (``answers``), its cache (``client_cache``), the offsets that it reads and commits.
* ``commits`` and ``committed``: stored offsets, with the requests for them; ``fencings``: refused requests.

Nothing is concluded from missing evidence: behind a hole, or the end of a log, nothing is known. ``rebuild``
spreads all steps over an engine.
"""
