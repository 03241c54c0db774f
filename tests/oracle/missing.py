"""Tables of the oracles, which say of what is missing where to add it."""

from __future__ import annotations

from typing import TypeVar

K, V = TypeVar("K"), TypeVar("V")


class OracleTable(dict[K, V]):
    """A table of an oracle. where, how: the file that has it, and what an entry consists of."""

    def __init__(self, rows: dict[K, V], where: str, how: str) -> None:
        super().__init__(rows)
        self.where, self.how = where, how

    def __missing__(self, key: K) -> V:
        raise LookupError(f"{self.where} has no entry for {key!r}. Add {self.how}, written from the document.")
