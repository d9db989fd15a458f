"""The driver's account of one classic group: its generations, the members' claims, and their outcome.

A hand-made leader records the claims that it gets and its assignment; a real Java leader reports the same
from its assignor (``java/GroupMember.java``). Nothing is read from the cluster's logs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assignors import Claims, Given, verdict
from lab_client import note
from partition_requests import Row
from truth import GroundTruth, Partition, now_ms


class Account:
    """Collects the generations of one group; ``close`` writes them, and what follows from them."""

    def __init__(self, truth: GroundTruth, group_id: str) -> None:
        self._truth = truth
        self._group_id = group_id
        self._generations: list[Row] = []
        self._seen: list[dict[str, Claims]] = []
        self._reasons: list[tuple[int, str]] = []

    def because(self, reason: str) -> None:
        """Set the reason of the next generations."""
        self._reasons.append((now_ms(), reason))

    def joined(
        self,
        generation: int | None,
        protocol: str,
        leader: str | None,
        seen: Mapping[str, Claims],
        at_ms: int = 0,
    ) -> None:
        """Record the members that a leader was sent."""
        self._seen.append(dict(seen))
        self._generations.append(
            {
                "generation": generation,
                "protocol": protocol,
                "leader_member_id": leader,
                "told_at_ms": at_ms or now_ms(),
                "assigned": None,
                "is_synced": False,
            }
        )

    def assigned(self, generation: int, given: Given) -> None:
        """Record an assignment that a leader sends."""
        self._row(generation)["assigned"] = dict(given)

    def synced(self, generation: int) -> None:
        """Record that a member got its assignment: the generation has begun."""
        for row in self._generations:
            if row["generation"] == generation:
                row["is_synced"] = True

    def tell(self, events: list[Row]) -> None:
        """Record the reports of one real member's assignor."""
        latest: Row | None = None
        for event in events:
            if event["event"] == "assign":
                members = event["members"]
                seen = {m: _claims(event["protocol"], said) for m, said in members.items()}
                self.joined(None, event["protocol"], None, seen, event["at_ms"])
                latest = self._generations[-1]
                latest["assigned"] = {m: _places(s["assigned"]) for m, s in members.items()}
            elif event["event"] == "assigned" and latest is not None:
                leads = {"generation": event["generation"], "leader_member_id": event["member_id"]}
                latest.update(leads, is_synced=True)
                latest = None

    def close(self) -> None:
        """Write everything down, in the order of time."""
        order = sorted(range(len(self._generations)), key=lambda n: self._generations[n]["told_at_ms"])
        holders: dict[Partition, str] = {}
        for n in order:
            row, seen = self._generations[n], self._seen[n]
            given: Given = row.pop("assigned") or {}
            self._write(row, seen, given, holders)
            if row["is_synced"]:
                self._judge(row, seen, given)
            if row["is_synced"]:
                holders = {p: _name(seen, m) for m, partitions in given.items() for p in partitions}

    def _write(self, row: Row, seen: dict[str, Claims], given: Given, holders: dict[Partition, str]) -> None:
        members = []
        for member_id, claims in sorted(seen.items()):
            found = {p: verdict(member_id, p, seen)[0] for p in sorted(claims.partitions)}
            members.append(
                {
                    "member_id": member_id,
                    "instance_id": claims.instance_id,
                    "subscription_version": claims.version,
                    "claimed_generation": claims.generation,
                    "claim_source": claims.source,
                    "claims": list(found),
                    "stale": [p for p in found if found[p] == "stale"],
                    "contradicted": [p for p in found if found[p] == "contradicted"],
                    "not_held": [p for p in found if holders.get(p) != _name(seen, member_id)],
                    "previous": None if claims.previous is None else sorted(claims.previous),
                    "assigned": sorted(given.get(member_id, ())),
                }
            )
        reason = next((why for at, why in reversed(self._reasons) if at <= row["told_at_ms"]), None)
        note(self._truth, "generation", group_id=self._group_id, **row, reason=reason, members=members)

    def _judge(self, row: Row, seen: dict[str, Claims], given: Given) -> None:
        to = {p: m for m, partitions in given.items() for p in partitions}
        for member_id, claims in sorted(seen.items()):
            for partition in sorted(claims.partitions):
                found, rivals = verdict(member_id, partition, seen)
                assigned_to = to.get(partition)
                broken = self._broken(found, member_id, partition, seen, assigned_to)
                if broken:
                    note(
                        self._truth,
                        "broken_rule",
                        rule=broken,
                        group_id=self._group_id,
                        generation=row["generation"],
                        topic=partition[0],
                        partition=partition[1],
                        from_member_id=rivals[0] if broken == "stale_claim_wins" else member_id,
                        to_member_id=assigned_to,
                    )

    @staticmethod
    def _broken(
        found: str, member_id: str, partition: Partition, seen: dict[str, Claims], assigned_to: str | None
    ) -> str | None:
        if found == "stale" and assigned_to == member_id:
            return "stale_claim_wins"
        taken = assigned_to is not None and assigned_to != member_id
        if found == "valid" and taken and partition not in seen[str(assigned_to)].partitions:
            return "handover_before_revocation"
        return None

    def _row(self, generation: int) -> Row:
        return next(row for row in reversed(self._generations) if row["generation"] == generation)


def read_events(file: Path) -> list[Row]:
    """The reports of a real member so far, without an incomplete last line."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _name(seen: Mapping[str, Claims], member_id: str) -> str:
    """The identity of a static member, which does not change with its member id."""
    return (seen[member_id].instance_id if member_id in seen else None) or member_id


def _places(told: list[list[Any]]) -> frozenset[Partition]:
    return frozenset((topic, index) for topic, index in told)


def _claims(protocol: str, said: Row) -> Claims:
    data = base64.b64decode(said["user_data"]) if said["user_data"] is not None else None
    message = {
        "version": None,
        "claims": _places(said["owned"]),
        "generation": said["generation"],
        "user_data": data,
    }
    return Claims.of(said["instance_id"], protocol, message)
