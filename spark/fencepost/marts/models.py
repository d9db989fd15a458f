"""The models of dbt's project, as far as a run needs to know them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.tables import CHAPTER, Table


@dataclass(frozen=True)
class Model:
    """A model of dbt. ``folder``: its protocol's folder, or the shared one. ``columns``: those of its
    contract. ``sources``: the tables of the lake that it reads, directly or through other models.
    ``stored_by``: the columns by which it is partitioned.
    """

    name: str
    relation: str
    folder: str
    is_table: bool
    doc: str
    columns: Mapping[str, str]
    properties: Mapping[str, str]
    sources: frozenset[str]
    stored_by: tuple[str, ...] = ()

    @property
    def in_chapters(self) -> bool:
        """Whether each row depends only on rows of its own chapter."""
        return CHAPTER in self.columns

    @property
    def table(self) -> Table:
        """The table of the mart by its contract."""
        return Table(self.relation, self.doc, dict(self.columns), key=())


def models(manifest: Any) -> list[Model]:
    """Every model of a project that dbt has parsed, except ephemeral ones, which are part of
    other queries.
    """
    nodes = {**manifest.nodes, **manifest.sources}
    nodes_of_models = [node for node in manifest.nodes.values() if node.resource_type == "model"]
    return [_model(nodes, node) for node in nodes_of_models if node.config.materialized != "ephemeral"]


def _model(nodes: Mapping[str, Any], node: Any) -> Model:
    return Model(
        name=node.name,
        relation=f"{node.schema}.{node.alias}",
        folder=Path(node.path).parts[0],
        is_table=node.config.materialized != "view",
        doc=node.description,
        columns={each.name: each.data_type for each in node.columns.values()},
        properties=node.config.get("tblproperties") or {},
        sources=frozenset(_sources(nodes, node)),
        stored_by=tuple(node.config.get("partition_by") or ()),
    )


def _sources(nodes: Mapping[str, Any], node: Any) -> Iterator[str]:
    for each in node.depends_on.nodes:
        upstream = nodes[each]
        if upstream.resource_type == "source":
            yield f"{upstream.schema}.{upstream.identifier}"
        else:
            yield from _sources(nodes, upstream)
