"""The picture of a topic: ``reading`` takes its rows, ``layout`` and ``drawing`` make it."""
