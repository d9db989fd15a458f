"""Every text that bronze has says whether it may hold names of clients, hosts or principals."""

from __future__ import annotations

from fencepost.protocols import captured
from fencepost.tables import WITHOUT_NAMES


def test_every_column_of_bronze_says_which_names_it_holds() -> None:
    """A new column has to be looked at: declare it in ``Table.names``, or add it to WITHOUT_NAMES."""
    for table in captured():
        texts = {name for name, kind in table.columns.items() if "string" in kind or kind == "binary"}
        assert texts - WITHOUT_NAMES <= set(table.names), table.name
        assert set(table.names) <= texts, table.name
