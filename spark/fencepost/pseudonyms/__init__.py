"""Replaces names of clients, hosts and principals by pseudonyms, where the configuration asks for it.

Names are replaced when evidence is read, before bronze is written: no table, page, alert or log has them.
"""

from fencepost.pseudonyms.names import KINDS, NAMED, NameKind, Pseudonyms, of_name

__all__ = ["KINDS", "NAMED", "NameKind", "Pseudonyms", "of_name"]
