"""A lake notes by which key it has pseudonyms, since names under two keys would not join."""

from __future__ import annotations

from pyiceberg.catalog import Catalog

from fencepost.protocols import captured
from fencepost.settings import Settings, SettingsError
from fencepost.tables import FILES

NOTED = "fencepost.pseudonyms"
"""The property of ``bronze.files`` with ``Pseudonyms.fingerprint``."""


def check_key(settings: Settings, catalog: Catalog) -> None:
    """Note the key of the configuration in a lake that is empty. Raises SettingsError if the lake has names,
    or pseudonyms of another key or of other kinds of names.
    """
    table = catalog.load_table(FILES.name)
    noted = table.properties.get(NOTED)
    wanted = None if settings.pseudonyms is None else settings.pseudonyms.fingerprint
    if noted == wanted:
        return
    if noted is None and wanted is not None and not _has_evidence(catalog):
        with table.transaction() as transaction:
            transaction.set_properties({NOTED: wanted})
        return
    has = "names as the logs have them" if noted is None else "pseudonyms of another key or of other names"
    if noted is not None and wanted is None:
        has = "pseudonyms in place of names"
    raise SettingsError(
        f"{settings.path}: pseudonyms: the lake has {has}, which would not join with what this configuration "
        "would add, and rows that are there cannot be changed. Configure [pseudonyms] as it was when the "
        "lake began, or name another lake in [lake], which reads all logs that are still there."
    )


def _has_evidence(catalog: Catalog) -> bool:
    return any(catalog.load_table(each.name).current_snapshot() is not None for each in captured())
