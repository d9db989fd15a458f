"""The tables of marts: each has the columns of its contract."""

from __future__ import annotations

from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchViewError
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable

from fencepost.ledger.states import find
from fencepost.marts.models import Model


def create(catalog: Catalog, model: Model) -> None:
    """Create a mart without rows, by its contract."""
    catalog.create_namespace_if_not_exists(model.relation.partition(".")[0])
    new = catalog.create_table_transaction(
        model.relation, model.table.arrow_schema, properties=_properties(model)
    )
    with new, new.update_spec() as spec:
        for name in model.stored_by:
            spec.add_identity(name)


def drop_former_view(catalog: Catalog, model: Model) -> None:
    """Drop the view that an earlier version of Fencepost made of a mart, if it did: nothing else may have its
    name.
    """
    with suppress(NoSuchViewError, NotImplementedError):
        catalog.drop_view(model.relation)


def fit(catalog: Catalog, model: Model) -> None:
    """Make the mart's table fit its contract. A table with other columns is dropped, with its rows."""
    table = find(catalog, model.relation)
    if table is not None and not _fits(table, model):
        catalog.drop_table(model.relation)
        table = None
    if table is None:
        create(catalog, model)
    elif not _properties(model).items() <= table.properties.items():
        with table.transaction() as change:
            change.set_properties(_properties(model))


def _properties(model: Model) -> dict[str, str]:
    return {**model.properties, "comment": model.doc}


def _fits(table: IcebergTable, model: Model) -> bool:
    """Whether a table has the columns and the partitioning of a mart."""
    stored_by = tuple(each.name for each in table.spec().fields)
    schema = Catalog._convert_schema_if_needed(model.table.arrow_schema)
    return stored_by == model.stored_by and _columns(table.schema()) == _columns(schema)


def _columns(schema: Schema) -> list[tuple[str, str]]:
    return [(field.name, str(field.field_type)) for field in schema.fields]
