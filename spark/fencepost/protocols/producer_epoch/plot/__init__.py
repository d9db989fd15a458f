"""The picture of a transactional id: ``reading`` takes its rows, ``layout`` and ``drawing`` make it."""
