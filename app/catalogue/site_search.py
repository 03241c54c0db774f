"""The search data of an exported site: the rules of lanescope.names.search."""

from __future__ import annotations

from collections.abc import Iterable

from lanescope.app.kit.fact import fact
from lanescope.names import search, vocabulary
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import SILENT


@fact
class RowKeys:
    """A row's keys as numbers of the export's `keys`."""

    whole: tuple[int, ...]
    words: tuple[int, ...]


@fact
class SearchExport:
    """The search data for the script of an exported site: the words of the rules, and each row's keys.

    `lines` are the full spellings of instructions that were not exported: they find nothing instead of their parts.
    """

    foreign: str
    opcode: str
    end: str
    word: str
    silent: tuple[str, ...]
    unspelled: tuple[str, ...]
    ordered: tuple[str, ...]
    product: str
    part: str
    pair: str
    types: tuple[str, ...]
    target: str
    synonyms: dict[str, tuple[str, ...]]
    known: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[RowKeys, ...]
    lines: tuple[str, ...]


def build_export(chosen: Iterable[Instruction]) -> SearchExport:
    """Build the search data of an exported site for these instructions."""
    rows = [search.index_instructions()[instruction.ptx] for instruction in chosen]
    names = sorted({key for keys in rows for key in (*keys.exact_keys, *keys.words)})
    at = {key: number for number, key in enumerate(names)}
    return SearchExport(
        foreign=search.FOREIGN,
        opcode=search.OPCODE.pattern,
        end=search.END,
        word=search.WORD,
        silent=tuple(sorted(vocabulary.SILENT)),
        unspelled=tuple(sorted(SILENT)),
        ordered=tuple(sorted(search.ORDERED)),
        product=search.PRODUCT,
        part=search.PART,
        pair=search.TYPES,
        types=tuple(sorted(DTYPES)),
        target=search.TARGET,
        synonyms=vocabulary.SYNONYMS,
        known=tuple(sorted(search.list_known_words())),
        keys=tuple(names),
        rows=tuple(
            RowKeys(whole=tuple(sorted(at[key] for key in keys.exact_keys)), words=tuple(at[key] for key in keys.words))
            for keys in rows
        ),
        lines=tuple(sorted(search.list_lines() - set(names))),
    )
