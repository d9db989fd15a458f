"""Leader epochs and incarnations of topics (KIP-232, KIP-320, KIP-516): what logs and requests tell of them.

* ``cluster``: a metadata log from its first record to its last, with who was elected (``elections``) and
  KIP-232's partition epochs; ``metadata_rows`` and ``broker_fencings`` are its rows.
* ``partition_logs``: batches, losses and checkpoints of a partition's own log, with what replicas cut off
  (``truncations``); ``partition_rows`` are its rows.
* ``clocks``: where in the metadata log a broker's moment may be, by what was certainly before what
  (``admin``, ``orders``); ``live`` is which incarnation was there.
* ``clients``: one instance after another (``instances``), through its ``lines``: the answers it was given
  (``answers``), its cache (``client_cache``), where it reads, and what it commits.
* ``commits`` and ``committed``: stored offsets, beside the requests for them; ``fencings``: refused requests.

What may be missing is never told: behind a hole, or behind the end of a log, nothing is known. ``rebuild``
spreads all of it over an engine.
"""
