"""Metadata of a table whose copies share the schemas, snapshots and other parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.table.metadata import TableMetadata, TableMetadataV2

__all__ = ["share"]


class _SharedMetadata(TableMetadataV2):
    """PyIceberg 0.12 changes no part of metadata that it is given: each update makes new ones. But it copies
    all of them with each update, which is a quarter of the cost of a commit, and what a schema has
    computed about itself is lost.
    """

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> _SharedMetadata:
        """See BaseModel; never deep."""
        return super().model_copy(update=update)


def share(metadata: TableMetadata) -> TableMetadata:
    """The same metadata, of which copies are cheap."""
    if type(metadata) is not TableMetadataV2:
        return metadata
    return _SharedMetadata.model_construct(metadata.model_fields_set, **dict(metadata))
