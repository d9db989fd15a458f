"""The one place that knows what has changed since a step was done, and what of its work still stands.

All steps write one table (:data:`~fencepost.tables.LEDGER`). Before a step writes anything else, it writes
there that it has begun, together with those of its earlier entries that stand; when all its rows are in their
tables, it writes that it is done. So after a run was killed anywhere every entry is true, and later steps
know that they have to wait.
"""

from fencepost.ledger.book import DROPPED, KEPT, Entry, Key, Ledger, Summary, UnfinishedError, first_different
from fencepost.ledger.code import code, made_by
from fencepost.ledger.files import Since

__all__ = [
    "DROPPED",
    "KEPT",
    "Entry",
    "Key",
    "Ledger",
    "Since",
    "Summary",
    "UnfinishedError",
    "code",
    "first_different",
    "made_by",
]
